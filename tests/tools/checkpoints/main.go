// Reads checkpoints, and witnesses them, with the Go packages that others use: our own must say the same.
//
//	checkpoints open LOG-VKEY WITNESS-VKEY < note     prints who signed it, a line each
//	checkpoints serve LOG-VKEY WITNESS-SKEY CERT KEY  serves a witness over TLS, and prints its port
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	f_note "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/witness/persistence/inmemory"
	"github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	if len(os.Args) < 4 {
		fail(fmt.Errorf("give open or serve, and keys"))
	}
	logKey, err := note.NewVerifier(os.Args[2])
	fail(err)
	if os.Args[1] == "open" {
		open(logKey, os.Args[3])
	} else {
		serve(logKey, os.Args[3], os.Args[4], os.Args[5])
	}
}

func open(logKey note.Verifier, witnessKey string) {
	verifier, err := f_note.NewVerifierForCosignatureV1(witnessKey)
	fail(err)
	content, err := io.ReadAll(os.Stdin)
	fail(err)
	opened, err := note.Open(content, note.VerifierList(logKey, verifier))
	fail(err)
	for _, signature := range opened.Sigs {
		fmt.Println(signature.Name)
	}
}

func serve(logKey note.Verifier, secret, cert, key string) {
	signer, err := f_note.NewSignerForCosignatureV1(secret)
	fail(err)
	made, err := witness.New(context.Background(), witness.Opts{
		Persistence: inmemory.New(),
		Signers:     []note.Signer{signer},
		VerifierForLog: func(_ context.Context, origin string) (note.Verifier, bool, error) {
			return logKey, origin == logKey.Name(), nil
		},
	})
	fail(err)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /add-checkpoint", witness.NewHTTPHandler(made).AddCheckpoint)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	fail(http.ServeTLS(listener, mux, cert, key))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
