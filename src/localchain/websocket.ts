import { isDeepStrictEqual } from "node:util";
import type { Server } from "node:http";
import type { Address } from "@solana/kit";
import { WebSocketServer, type WebSocket } from "ws";
import { newAccount, type AccountState } from "./accounts.ts";
import { ChainView } from "./chain-view.ts";
import { FINALIZED_AFTER_SLOTS, type Commitment } from "./slots.ts";
import type { Chain } from "./engine.ts";
import { type Json, isObject, writeJson } from "./json.ts";
import { encodeAccount } from "./rpc/accounts.ts";
import {
  withContext,
  Options,
  invalidParams,
  METHOD_NOT_FOUND,
  RpcError,
  Params,
  parseAddress,
} from "./rpc/params.ts";
import type { TransactionRecord } from "./wire-transaction.ts";
import { errorJson } from "./json-rpc.ts";

/** Sends one notification's `result`. */
type Notify = (result: Json) => void;

/** A subscription of one client; {@link Subscription.look} runs after every change of the chain. */
interface Subscription {
  /** Name of the notification's `method`. */
  readonly notification: string;
  /** Sends new notifications; returns true after the last one. */
  look(): boolean;
}

/** Notifies once when a transaction reaches the commitment; the server then ends the subscription. */
function signatureSubscription(
  chain: Chain,
  signature: string,
  commitment: Commitment,
  receivedToo: boolean,
  notify: Notify,
): Subscription {
  let received = !receivedToo;
  return {
    notification: "signatureNotification",
    look() {
      const view = new ChainView(chain);
      if (!received && view.transaction(signature, "processed") !== undefined) {
        received = true;
        notify(withContext(view, commitment, "receivedSignature"));
      }
      const record = view.transaction(signature, commitment);
      if (record === undefined) return false;
      notify(withContext(view, commitment, { err: record.err }));
      return true;
    },
  };
}

function accountSubscription(chain: Chain, address: Address, options: Options, notify: Notify): Subscription {
  const commitment = options.commitment();
  const state = (): AccountState => new ChainView(chain).account(address, commitment);
  let last = state();
  return {
    notification: "accountNotification",
    look() {
      const now = state();
      if (isDeepStrictEqual(now, last)) return false;
      last = now;
      const view = new ChainView(chain);
      notify(withContext(view, commitment, encodeAccount(view, now ?? newAccount(address, 0n), options)));
      return false;
    },
  };
}

/** Notifies of transaction logs when they reach the commitment: all, or only those that name an address. */
function logsSubscription(
  chain: Chain,
  mentions: Address | undefined,
  commitment: Commitment,
  notify: Notify,
): Subscription {
  /** Transactions at the commitment. Those outside the window were notified earlier. */
  const settled = (view: ChainView): readonly TransactionRecord[] =>
    chain.history
      .since(view.slot - 2 * FINALIZED_AFTER_SLOTS)
      .filter((record) => view.reached(record, commitment))
      .filter((record) => mentions === undefined || record.keys.all.includes(mentions));
  let notified = new Set(settled(new ChainView(chain)));
  return {
    notification: "logsNotification",
    look() {
      const view = new ChainView(chain);
      const records = settled(view);
      for (const record of records) {
        if (notified.has(record)) continue;
        const { signature } = record.transaction;
        notify(withContext(view, commitment, { signature, err: record.err, logs: record.logs }));
      }
      notified = new Set(records);
      return false;
    },
  };
}

/** Notifies of every new slot. */
function slotSubscription(chain: Chain, notify: Notify): Subscription {
  let last = chain.slots.current;
  return {
    notification: "slotNotification",
    look() {
      const slot = chain.slots.current;
      if (slot === last) return false;
      last = slot;
      notify({ parent: slot - 1, root: new ChainView(chain).slotAt("finalized"), slot });
      return false;
    },
  };
}

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
