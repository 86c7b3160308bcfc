import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { LinePoint, Moment, Order } from "./points.ts";

/** How long the server connection outlives its client, ms, so that the server finishes what it received. */
const LINGER_MS = 3_000;

type LineOrder = Order & { readonly point: LinePoint };

/** A proxy between an instance and the database that injects ordered faults. */
export class Line {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #orders = new Map<LinePoint, LineOrder>();
  readonly #onStruck: (order: LineOrder) => void;

  private constructor(server: Server, url: string, onStruck: (order: LineOrder) => void) {
    this.#server = server;
    this.url = url;
    this.#onStruck = onStruck;
  }

  /** @param onStruck called for each fault as it strikes; performs kills and stalls */
  static async open(databaseUrl: string, onStruck: (order: LineOrder) => void): Promise<Line> {
    const target = new URL(databaseUrl);
    const server = createServer((near) => line.#join(near, connect(Number(target.port), target.hostname)));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (typeof address !== "object" || address === null) throw new Error("the line has no port");
    const url = new URL(databaseUrl);
    url.hostname = "127.0.0.1";
    url.port = String(address.port);
    const line = new Line(server, url.href, onStruck);
    return line;
  }

  order(order: LineOrder): void {
    this.#orders.set(order.point, order);
  }

  withdraw(): void {
    this.#orders.clear();
  }

  forget(point: LinePoint): void {
    this.#orders.delete(point);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(near: Socket, far: Socket): void {
    let lingering = false;
    let awaiting: LineOrder | undefined;
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        near.destroy();
        if (!lingering) far.destroy();
      });
    }
    const linger = () => {
      lingering = true;
      setTimeout(() => far.destroy(), LINGER_MS).unref();
      near.destroy();
    };
    near.on("data", (data) => {
      const order = this.#take(data);
      const moment = order && momentOf(order.point);
      if (!order || moment === "unanswered" || moment === "answered") {
        awaiting ??= order;
        far.write(data);
        return;
      }
      this.#onStruck(order);
      if (moment === "late") {
        setTimeout(() => far.write(data), order.ms).unref();
        linger();
      } else {
        far.destroy();
      }
    });
    far.on("data", (data) => {
      if (lingering) return;
      if (!awaiting) {
        near.write(data);
        return;
      }
      const order = awaiting;
      awaiting = undefined;
      if (momentOf(order.point) === "answered") near.end(data);
      else linger();
      this.#onStruck(order);
    });
  }

  /** The order that the data triggers. The driver sends a prepared statement in one piece with its name. */
  #take(data: Buffer): LineOrder | undefined {
    for (const [point, order] of this.#orders) {
      if (!data.includes(`${statementOf(point)}\0`)) continue;
      this.#orders.delete(point);
      return order;
    }
    return undefined;
  }
}

function statementOf(point: LinePoint): string {
  return point.slice(0, point.lastIndexOf(":"));
}

function momentOf(point: LinePoint): Moment {
  if (point.endsWith(":unsent")) return "unsent";
  if (point.endsWith(":unanswered")) return "unanswered";
  return point.endsWith(":late") ? "late" : "answered";
}
