import { expect, it } from "vitest";
import { z } from "zod";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";
import { keypairSigner, ToolgateClient } from "../../src/client/index.ts";
import { memoOf, xPayment, type World } from "../support/world.ts";
import { runToolgateHere } from "./toolgate.ts";

const CALL = ["vram_estimate", { model: "llama-3.1-8b" }] as const;

/** The events of a call that is paid by a transfer and refunded, in order. */
const STORY = [
  "quote issued",
  "payment on the chain",
  "payment verified",
  "payment credited",
  "run started",
  "run completed",
  "charged",
  "refunded",
];

/** Tests of `find`; the world trusts a proxy. */
export function findFlow(getWorld: () => World): void {
  const toolgate = (...args: string[]) => runToolgateHere({ DATABASE_URL: getWorld().database.url }, args);
  const eventsOf = async (id: string) => {
    const { rows } = await toolgate("find", id, "--json");
    return rows.map(({ event }) => event);
  };

  it("finds the story of a call by each of its identifiers, on the command line and over gRPC", async () => {
    const world = getWorld();
    const agent = await world.agent();
    const offer = await world.call(agent, ...CALL);
    const quoteId: string = offer.body.quote.quote_id;
    const tx = await world.pay(agent, 1_000n, memoOf(offer.body.quote));
    const headers = { ...xPayment(tx, quoteId), "x-request-id": "proxy/4bf92f35-1" };
    const { receipt } = (await world.call(agent, ...CALL, { headers })).body;
    await toolgate("receipts", "refund", "--receipt", receipt.receipt_id, "--reason", "wrong result");

    for (const id of ["proxy/4bf92f35-1", receipt.run_id, receipt.receipt_id, quoteId, tx])
      expect(await eventsOf(id), id).toEqual(STORY);
    for (const id of [agent.accountId, agent.wallet.publicKey.toBase58()])
      expect(await eventsOf(id), id).toEqual(expect.arrayContaining(["account created", ...STORY]));
    for (const id of [agent.apiKey, agent.apiKey.slice(0, 14)])
      expect(await eventsOf(id)).toEqual(expect.arrayContaining(["key created", "run completed"]));

    const { rows } = await toolgate("find", receipt.run_id, "--json");
    expect(rows.find(({ event }) => event === "run started")).toMatchObject({
      id: receipt.run_id,
      account_id: agent.accountId,
      amount_usdc: "0.001000",
      details: { request_id: "proxy/4bf92f35-1", tool: "vram_estimate", paid_by: "transfer" },
    });
    const text = await toolgate("find", tx);
    expect(text.stdout).toMatch(
      / {2}refunded +rcpt_\w+ {2}0\.001000 USDC\n(.*\n)*? {4}reason: wrong result\n/,
    );

    const operator = await world.agent({ operator: true });
    const client = grpcClient(world.gateway.grpcAddress);
    const metadata = { authorization: `Bearer ${operator.apiKey}` };
    const { message } = await callGrpc(client, OperationsService.method.find, { id: tx }, { metadata });
    client.close();
    expect(message.events.map(({ event }) => event)).toEqual(STORY);
  });

  it("finds what became of a quote for any wallet, which belongs to no account", async () => {
    const { gateway, chain } = getWorld();
    const [tool, params] = CALL;
    const wallet = chain.controls.createWallet({ microUsd: 10_000n, lamports: 0n });
    const quoteIds: string[] = [];
    const watching: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const offer = response.status === 402 && z.object({ quote: z.object({ quote_id: z.string() }) });
      if (offer) quoteIds.push(offer.parse(await response.clone().json()).quote.quote_id);
      return response;
    };
    const payment = { signer: keypairSigner(wallet), maxPrice: "0.01", budget: "0.01" };
    const client = new ToolgateClient({ baseUrl: gateway.baseUrl, wallet: payment, fetch: watching });
    await client.price(tool, params);
    await client.callTool(tool, params);

    const unpaid = await toolgate("find", quoteIds[0] ?? "", "--json");
    expect(unpaid.rows).toMatchObject([
      {
        event: "quote issued",
        account_id: null,
        details: { quoted_to: expect.stringMatching(/^any wallet/) },
      },
    ]);
    expect(await eventsOf(quoteIds[1] ?? "")).toEqual(
      expect.arrayContaining(["quote issued", "payment credited", "run completed", "charged"]),
    );
  });

  it("finds a run by the request id that its caller saw, over each transport", async () => {
    const world = getWorld();
    const agent = await world.agent({ balance: 10_000n });
    const direct = await world.call(agent, ...CALL);
    const rpc = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: CALL[0], arguments: CALL[1] },
    };
    const mcp = await fetch(`${world.gateway.baseUrl}/mcp`, {
      method: "POST",
      headers: { authorization: `Bearer ${agent.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(rpc),
    });
    expect(mcp.status).toBe(200);
    for (const headers of [direct.headers, mcp.headers])
      expect(await eventsOf(headers.get("x-request-id") ?? "")).toEqual([
        "run started",
        "run completed",
        "charged",
      ]);
  });

  it("exits with 1 when there is nothing, and says what it looks for", async () => {
    for (const id of ["run_0198f6a1b2c3d4e5f60718293a4b5c6d", `req_${"0".repeat(32)}`, "qt_forged"]) {
      const { code, stderr } = await toolgate("find", id);
      expect([code, stderr], id).toEqual([1, expect.stringMatching(/^NOT_FOUND: /)]);
    }
    const { code, stderr } = await toolgate("find", "two words");
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^INVALID_REQUEST: id: must be a request id/)]);
  });
}
