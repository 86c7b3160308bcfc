import { connect, createServer, type Socket } from "node:net";
import { closeServer, listen } from "../../support/servers.ts";

export type CuttingProxy = Awaited<ReturnType<typeof openCuttingProxy>>;

/**
 * A database proxy that cuts the connection after the server has committed, before the client gets the
 * response.
 */
export async function openCuttingProxy(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const state = { armed: false, frozen: false, cuts: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (data) => {
      if (state.frozen) return;
      if (!state.armed) return void client.write(data);
      state.armed = false;
      state.cuts++;
      client.destroy();
    });
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${await listen(server)}`;
  return {
    url: url.href,
    /** Drops the next response and closes its connection. */
    cutNextAnswer: () => void (state.armed = true),
    /** Forwards nothing and closes nothing: a silent network. */
    freeze: () => void (state.frozen = true),
    /** Number of dropped responses. */
    get cuts() {
      return state.cuts;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await closeServer(server);
    },
  };
}
