import { createServer, request as startRequest } from "node:http";
import { closeServer, listen } from "../support/servers.ts";

/** A running proxy. */
export interface AuthorizingProxy {
  /** http://127.0.0.1:port */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Forwards every request with an API key, because the suites cannot send one.
 * Host and Origin stay, since the suites check them.
 */
export async function startAuthorizingProxy(target: string, apiKey: string): Promise<AuthorizingProxy> {
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${apiKey}` };
    const onward = startRequest(new URL(request.url ?? "/", target), { method: request.method, headers });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, close: () => closeServer(server) };
}
