import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";

/**
 * A database proxy that cuts the connection after the server has committed, before the client gets the
 * response.
 */
export interface CuttingProxy {
  url: string;
  /** Drops the next response and closes its connection. */
  cutNextAnswer(): void;
  /** Forwards nothing and closes nothing: a silent network. */
  freeze(): void;
  /** Number of dropped responses. */
  readonly cuts: number;
  close(): Promise<void>;
}

export async function openCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const target = new URL(databaseUrl);
  let armed = false;
  let frozen = false;
  let cuts = 0;
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
      if (frozen) return;
      if (!armed) {
        client.write(data);
        return;
      }
      armed = false;
      cuts++;
      client.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(portOf(server.address()));
  return {
    url: url.href,
    cutNextAnswer: () => {
      armed = true;
    },
    freeze: () => {
      frozen = true;
    },
    get cuts() {
      return cuts;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address !== "object" || address === null) throw new Error("the proxy does not listen on a port");
  return address.port;
}
