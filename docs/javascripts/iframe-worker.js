// Search without a server: browsers refuse workers of pages that lie on disk, so an iframe stands in for the worker.
// MkDocs Material would load such a script from the network (`extra.polyfills` in mkdocs.yml).
class IframeWorker extends EventTarget {
  constructor(url) {
    super();
    this.iframe = document.createElement("iframe");
    this.iframe.hidden = true;
    document.body.appendChild(this.iframe);
    const page = this.iframe.contentDocument;
    page.open();
    page.write(
      "<script>postMessage = (data) => parent.postMessage(data, '*');" +
        "importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done) => {" +
        "const script = document.createElement('script'); script.src = url; script.onload = done;" +
        "document.body.appendChild(script); })), Promise.resolve());<\/script>" +
        `<body><script src="${url}"><\/script></body>`,
    );
    page.close();
    this.ready = new Promise((done) => (this.iframe.contentWindow.onload = done));
    window.addEventListener("message", (event) => {
      if (event.source !== this.iframe.contentWindow) return;
      event.stopImmediatePropagation();
      const message = new MessageEvent("message", { data: event.data });
      this.dispatchEvent(message);
      this.onmessage?.(message);
    });
  }

  postMessage(data) {
    const inside = this.iframe.contentWindow; // its own postMessage speaks to this page
    this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
  }

  terminate() {
    this.iframe.remove();
  }
}

if (location.protocol === "file:") window.Worker = IframeWorker;
