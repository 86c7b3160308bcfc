import type { Server } from "node:http";
import { WebSocketServer, type WebSocket } from "ws";
import type { Chain } from "./engine.ts";
import { errorJson } from "./json-rpc.ts";
import { isObject, writeJson, type Json } from "./json.ts";
import { invalidParams, METHOD_NOT_FOUND, RpcError } from "./rpc/errors.ts";
import { Options, Params, parseAddress } from "./rpc/params.ts";
import {
  accountSubscription,
  logsSubscription,
  signatureSubscription,
  slotSubscription,
  type Notify,
  type Subscription,
} from "./subscriptions.ts";

/** Serves Solana's PubSub API (JSON-RPC over WebSocket) on an HTTP server; the returned function ends it. */
export function servePubSub(chain: Chain, server: Server): () => void {
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (client) => serveClient(chain, client));
  });
  return () => {
    for (const socket of sockets.clients) socket.terminate();
    sockets.close();
  };
}

function serveClient(chain: Chain, socket: WebSocket): void {
  const subscriptions = new Map<number, Subscription>();
  let lastId = 0;

  const look = (): void => {
    for (const [id, subscription] of subscriptions) if (subscription.look()) subscriptions.delete(id);
  };
  const call = (method: string, params: Params): Json => {
    if (method.endsWith("Unsubscribe")) {
      if (!subscriptions.delete(params.count(0))) throw invalidParams("Invalid subscription id.");
      return true;
    }
    const id = ++lastId;
    const notify: Notify = (result) => {
      const { notification } = subscription;
      socket.send(writeJson({ jsonrpc: "2.0", method: notification, params: { result, subscription: id } }));
    };
    const subscription = subscribe(chain, method, params, notify);
    subscriptions.set(id, subscription);
    return id;
  };

  socket.on("close", chain.listen({ onTransaction: look, onSlot: look }));
  socket.on("error", () => socket.terminate());
  socket.on("message", (message: Buffer) => {
    const request = parse(message.toString("utf8"));
    if (request === undefined) return; // pings are notifications; they keep the connection open and no more
    let reply: Json;
    try {
      reply = { jsonrpc: "2.0", result: call(request.method, request.params), id: request.id };
    } catch (error) {
      reply = { jsonrpc: "2.0", error: errorJson(error), id: request.id };
    }
    socket.send(writeJson(reply));
    look(); // notifies of the current state, after the reply with the subscription id
  });
}

function subscribe(chain: Chain, method: string, params: Params, notify: Notify): Subscription {
  const options = params.options(1);
  switch (method) {
    case "signatureSubscribe": {
      const receivedToo = options.flag("enableReceivedNotification") === true;
      return signatureSubscription(chain, params.signature(0), options.commitment(), receivedToo, notify);
    }
    case "accountSubscribe":
      return accountSubscription(chain, params.address(0), options, notify);
    case "logsSubscribe":
      return logsSubscription(chain, mentioned(params.raw(0)), options.commitment(), notify);
    case "slotSubscribe":
      return slotSubscription(chain, notify);
    default:
      throw new RpcError(METHOD_NOT_FOUND, "Method not found");
  }
}

/** `"all"`, `"allWithVotes"` or `{"mentions": [address]}`. */
function mentioned(filter: unknown): ReturnType<typeof parseAddress> | undefined {
  if (filter === "all" || filter === "allWithVotes") return undefined;
  const addresses = new Options(filter).list("mentions") ?? [];
  if (addresses.length !== 1) throw invalidParams("Invalid Request: Only 1 address supported");
  return parseAddress(new Params(addresses).text(0));
}

interface PubSubRequest {
  readonly id: string | number;
  readonly method: string;
  readonly params: Params;
}

function parse(text: string): PubSubRequest | undefined {
  let request: unknown;
  try {
    request = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(request)) return undefined;
  const { id, method, params } = request;
  if ((typeof id !== "string" && typeof id !== "number") || typeof method !== "string") return undefined;
  return { id, method, params: new Params(Array.isArray(params) ? params : []) };
}
