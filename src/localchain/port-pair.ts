import type { Server } from "node:http";

const ATTEMPTS = 50;

/**
 * Binds two servers to neighbouring ports: web3.js 1.x expects the WebSocket on the HTTP port + 1.
 *
 * @param port of the first server; 0 finds a free pair
 * @returns the first server's port
 * @throws Error if a port is taken
 */
export async function listenOnPair(
  http: Server,
  webSocket: Server,
  host: string,
  port: number,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const first = await listen(http, host, port);
    try {
      if (first === 65_535) throw new Error("there is no port behind 65535");
      await listen(webSocket, host, first + 1);
      return first;
    } catch (error) {
      await new Promise((resolve) => http.close(resolve));
      if (port !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server listens on TCP");
  return bound.port;
}
