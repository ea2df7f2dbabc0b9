"""A timestamp authority (RFC 3161) for tests: `openssl ts`, with certificates of its own."""

import subprocess
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

CONFIG: Final = """
[tsa]
default_tsa = tsa_config
[tsa_config]
serial = FOLDER/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
ess_cert_id_alg = sha256
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
[leaf]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = critical, USAGE
"""


class OpensslAuthority:
    """Its files, in a folder: `ca.pem`, `tsa.pem`, and what is asked and answered."""

    def __init__(self, folder: Path, usage: str = "timeStamping", *, expired: bool = False) -> None:
        """Make keys and certificates; `usage` is the purpose of the one that signs."""
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.ca = folder / "ca.pem"
        (folder / "serial").write_text("01\n")
        config = CONFIG.replace("FOLDER", str(folder)).replace("USAGE", usage)
        (folder / "tsa.cnf").write_text(config)
        new = "req -x509 -nodes -config tsa.cnf -newkey".split()
        authority = "rsa:2048 -keyout ca.key -out ca.pem -subj /CN=ca -extensions ca -days 9"
        self.run(*new, *authority.split())
        signer = "rsa:2048 -keyout tsa.key -out tsa.pem -subj /CN=tsa -extensions leaf"
        if expired:  # OpenSSL 3.0 takes no dates in `req`.
            self._sign_expired(signer)
        else:
            self.run(*new, *signer.split(), *"-days 9 -CA ca.pem -CAkey ca.key".split())

    def _sign_expired(self, signer: str) -> None:
        words = signer.replace("-out tsa.pem", "-out tsa.csr").replace("-extensions leaf", "")
        self.run(*"req -new -nodes -config tsa.cnf -newkey".split(), *words.split())
        (self.folder / "index").write_text("")
        (self.folder / "ca.cnf").write_text(
            "[ca]\ndefault_ca = one\n[one]\ndatabase = index\nnew_certs_dir = .\n"
            "rand_serial = yes\ndefault_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n"
        )
        flags = "-batch -config ca.cnf -cert ca.pem -keyfile ca.key -in tsa.csr -out tsa.pem"
        dates = "-startdate 20200101000000Z -enddate 20200201000000Z"
        names = "-extfile tsa.cnf -extensions leaf"
        self.run("ca", *flags.split(), *dates.split(), *names.split())

    def run(self, *arguments: str) -> None:
        """Run openssl in the folder; it must succeed."""
        done = subprocess.run(
            ["openssl", *arguments],  # noqa: S607  The reader's own.
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def certificates(self, usage: str) -> tuple[bytes, bytes]:
        """Return its certificate, and one of the same key and number for another purpose (DER)."""
        good = x509.load_pem_x509_certificate((self.folder / "tsa.pem").read_bytes())
        config = (self.folder / "tsa.cnf").read_text().replace("timeStamping", usage)
        (self.folder / "wrong.cnf").write_text(config)
        flags = "-key tsa.key -subj /CN=tsa -extensions leaf -days 9 -out wrong.pem"
        signed = f"-CA ca.pem -CAkey ca.key -set_serial {good.serial_number}"
        self.run(*"req -x509 -new -config wrong.cnf".split(), *flags.split(), *signed.split())
        wrong = x509.load_pem_x509_certificate((self.folder / "wrong.pem").read_bytes())
        return good.public_bytes(Encoding.DER), wrong.public_bytes(Encoding.DER)

    def reply(self, query: bytes) -> bytes:
        """Return the reply to a query."""
        (self.folder / "query").write_bytes(query)
        flags = "-config tsa.cnf -queryfile query -signer tsa.pem -inkey tsa.key -out reply"
        self.run("ts", "-reply", *flags.split())
        return (self.folder / "reply").read_bytes()

    def verifies(self, data: bytes, reply: bytes) -> bool:
        """Return whether openssl finds that a reply is a timestamp of some bytes."""
        (self.folder / "data").write_bytes(data)
        (self.folder / "reply").write_bytes(reply)
        flags = "-data data -in reply -CAfile ca.pem"
        done = subprocess.run(
            ["openssl", "ts", "-verify", *flags.split()],  # noqa: S607  As above.
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        return done.returncode == 0
