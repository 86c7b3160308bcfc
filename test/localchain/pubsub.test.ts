import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { memo, useChain } from "./paying.ts";

describe("subscriptions over the WebSocket", () => {
  const local = useChain();
  let socket: WebSocket;
  let received: unknown[];

  beforeEach(async () => {
    received = [];
    socket = new WebSocket(local.wsUrl);
    await new Promise((resolve) => socket.once("open", resolve));
  });
  afterEach(() => socket.terminate());

  /** Sends one request and waits for its reply; notifications are collected on the side. */
  function call(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve) => {
      const listener = (message: Buffer): void => {
        const { id, result, error, ...notification } = JSON.parse(message.toString()) as {
          id?: number;
          result?: unknown;
          error?: unknown;
          params?: { result: unknown };
        };
        if (id === undefined) received.push(notification.params?.result);
        else resolve(result ?? error);
      };
      socket.removeAllListeners("message").on("message", listener);
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    });
  }

  const pay = () => local.send(local.payment(10n, memo("svc:ws")));

  it("notify once that a signature has reached its commitment, also if it had before", async () => {
    const signature = await pay();
    await call("signatureSubscribe", signature, {
      commitment: "confirmed",
      enableReceivedNotification: true,
    });
    await expect.poll(() => received).toMatchObject([{ value: "receivedSignature" }]);
    local.chain.advance(40);
    await expect
      .poll(() => received)
      .toMatchObject([{ value: "receivedSignature" }, { value: { err: null } }]);
    local.chain.advance();
    await call("signatureSubscribe", signature, { commitment: "finalized" });
    await expect.poll(() => received.length).toBe(3);
  });

  it("notify of the logs of transactions that name an account", async () => {
    const mentions = [local.controls.usdcAccount(local.shop.publicKey).toBase58()];
    await call("logsSubscribe", { mentions }, { commitment: "confirmed" });
    local.controls.createWallet();
    const signature = await pay();
    local.chain.advance();
    local.chain.advance();
    await expect
      .poll(() => received)
      .toMatchObject([{ value: { signature, err: null, logs: expect.any(Array) } }]);
  });

  it("notify of an account's new state and of every new slot until unsubscribed", async () => {
    const account = local.controls.usdcAccount(local.shop.publicKey).toBase58();
    await call("accountSubscribe", account, { commitment: "processed", encoding: "jsonParsed" });
    const slots = await call("slotSubscribe");
    await pay();
    local.chain.advance();
    await expect
      .poll(() => received)
      .toMatchObject([
        { value: { data: { parsed: { info: { tokenAmount: { amount: "10" } } } } } },
        { slot: local.chain.slots.current, parent: local.chain.slots.current - 1 },
      ]);
    expect(await call("slotUnsubscribe", slots)).toBe(true);
    local.chain.advance();
    expect(await call("slotUnsubscribe", slots)).toMatchObject({ code: -32602 });
    expect(received.length).toBe(2);
  });

  it("are refused for unsupported methods", async () => {
    expect(await call("voteSubscribe")).toMatchObject({ code: -32601 });
    expect(await call("signatureSubscribe", "1111")).toMatchObject({ code: -32602 });
  });
});
