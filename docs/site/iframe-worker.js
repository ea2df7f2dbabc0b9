// Search when the site is opened from a folder. Browsers start no Worker from file://, so the script
// of the search runs in a hidden frame there. On a web server this file does nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame) return;
        const told = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      });
      const page = this.frame.document;
      page.open();
      page.write(`<!doctype html><body><script>
        postMessage = (message) => parent.postMessage(message, "*");
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = done;
          document.body.append(script);
        })), Promise.resolve());
      <\/script><script src="${url}"><\/script></body>`);
      page.close();
      // Messages wait until the frame's script is there.
      this.ready = new Promise((done) => frame.addEventListener("load", done, { once: true }));
    }

    postMessage(message) {
      this.ready.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data: message })));
    }

    terminate() {
      this.frame.frameElement.remove();
    }
  };
}
