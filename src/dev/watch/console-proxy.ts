import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";

/** Serves the console from Vite's server, on the gateway's origin. */
export class ConsoleProxy {
  readonly #vite: URL;

  constructor(viteUrl: string) {
    this.#vite = new URL(viteUrl);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { hostname, port, host } = this.#vite;
    const { url: path, method, headers } = request;
    response.setHeader("Content-Security-Policy", policyFor(host));
    const upstream = httpRequest(
      { hostname, port, path, method, headers: { ...headers, host } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    upstream.on("error", (error) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(502, { "Content-Type": "text/plain" }).end(`Vite: ${error.message}\n`);
    });
    response.once("close", () => upstream.destroy());
    upstream.end();
  }
}

/** Hot reload needs inline scripts and styles, and a WebSocket to Vite. */
function policyFor(viteHost: string): string {
  return [
    "default-src 'self'",
    "script-src 'self' 'unsafe-inline'",
    "style-src 'self' 'unsafe-inline'",
    `connect-src 'self' ws://${viteHost}`,
    "img-src 'self' data:",
    "frame-ancestors 'none'",
  ].join("; ");
}
