import { connect, createServer, type Socket } from "node:net";
import { closeServer, listen } from "../support/servers.ts";
import { partsOf, type Order } from "./points.ts";

/** How long the server connection outlives its client, ms, so that the server finishes what it received. */
const LINGER_MS = 3_000;

/** A proxy between an instance and the database that injects ordered faults. */
export interface Line {
  readonly url: string;
  /** The faults to inject, by point. */
  readonly orders: Map<string, Order>;
  close(): Promise<void>;
}

/** @param onStruck called for each fault as it strikes; performs kills and stalls */
export async function openLine(databaseUrl: string, onStruck: (order: Order) => void): Promise<Line> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const orders = new Map<string, Order>();
  /** The order that the data triggers. The driver sends a prepared statement in one piece with its name. */
  const take = (data: Buffer): Order | undefined => {
    const order = [...orders.values()].find(({ point }) => data.includes(`${partsOf(point)[0]}\0`));
    if (order) orders.delete(order.point);
    return order;
  };
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    let lingering = false;
    let awaiting: Order | undefined;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        if (!lingering) far.destroy();
      });
    }
    const linger = (): void => {
      lingering = true;
      setTimeout(() => far.destroy(), LINGER_MS).unref();
      near.destroy();
    };
    near.on("data", (data) => {
      const order = take(data);
      const when = order && partsOf(order.point)[1];
      if (!order || when === "unanswered" || when === "answered") {
        awaiting ??= order;
        far.write(data);
        return;
      }
      onStruck(order);
      if (when !== "late") return void far.destroy();
      setTimeout(() => far.write(data), order.ms).unref();
      linger();
    });
    far.on("data", (data) => {
      if (lingering) return;
      if (!awaiting) return void near.write(data);
      const order = awaiting;
      awaiting = undefined;
      if (order.point.endsWith(":answered")) near.end(data);
      else linger();
      onStruck(order);
    });
  });
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${await listen(server)}`;
  return {
    url: url.href,
    orders,
    async close() {
      for (const socket of sockets) socket.destroy();
      await closeServer(server);
    },
  };
}
