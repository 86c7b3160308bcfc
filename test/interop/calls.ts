import { HealthService } from "#gen/toolgate/v1/health_service_pb.ts";
import { PaymentService } from "#gen/toolgate/v1/payment_service_pb.ts";
import { ReceiptService, type ListReceiptsRequestSchema } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { memoOf, xPayment, type Agent, type AgentOptions, type World } from "../support/world.ts";
import type { Call } from "./transports.ts";

/** One row: who calls, what happened before, and the call. */
export interface Row {
  name: string;
  /** A fresh agent with these options; `stranger` sends no key, `impostor` an unknown one. */
  caller?: AgentOptions | "stranger" | "impostor";
  /** The call, after whatever it needs has happened. */
  call(world: World, agent: Agent): Promise<Call & { headers?: Record<string, string> }> | Call;
  /** Whether tools/call of MCP answers in its own words, so that it cannot be compared. */
  ownWordsInMcp?: boolean;
}

const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } };

const ECHO = { tool: "echo", params: { message: "" } };

const tool = (body: { tool: string; params: JsonObject; idempotency_key?: string }): Call => ({
  method: ToolService.method.callTool,
  request: {
    tool: body.tool,
    params: body.params,
    ...(body.idempotency_key !== undefined && { idempotencyKey: body.idempotency_key }),
  },
  path: "/v1/mcp/tools/call",
  body,
});

const listReceipts = (request: MessageInitShape<typeof ListReceiptsRequestSchema>, query = ""): Call => ({
  method: ReceiptService.method.listReceipts,
  request,
  path: `/receipts${query}`,
});

const price = (body: { tool: string; params: JsonObject }): Call => ({
  method: ToolService.method.getPrice,
  request: body,
  path: "/v1/mcp/tools/price",
  body,
});

const buy = (world: World, agent: Agent) => world.call(agent, PAID.tool, PAID.params);

const row = (name: string, conditions: Pick<Row, "caller" | "ownWordsInMcp">, call: Row["call"]): Row => ({
  name,
  call,
  ...conditions,
});

/** The calls that every transport must answer alike. */
export const ROWS: readonly Row[] = [
  row("echo", {}, () => tool({ tool: "echo", params: { message: "héllo \u0000 😀" } })),
  row("get_status", { caller: { balance: 1_234_567n } }, () => tool({ tool: "get_status", params: {} })),
  row("a paid call from the balance", { caller: { balance: 5_000n } }, () => tool(PAID)),
  row("a paid call without money: 402", {}, () => tool(PAID)),
  row("a paid call with a proof", {}, async (world, agent) => {
    const { quote } = (await buy(world, agent)).body;
    const tx = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
    return { ...tool(PAID), headers: xPayment(tx, quote.quote_id) };
  }),
  row("a proof of too little: INVALID_PAYMENT 402", {}, async (world, agent) => {
    const { quote } = (await buy(world, agent)).body;
    const tx = await world.pay(agent, 1n, memoOf(quote));
    return { ...tool(PAID), headers: xPayment(tx, quote.quote_id) };
  }),
  row(
    "the same call again, by its idempotency key",
    { caller: { balance: 1_000n } },
    async (world, agent) => {
      const headers = { "Idempotency-Key": "again" };
      await world.call(agent, PAID.tool, PAID.params, { headers });
      return { ...tool(PAID), headers };
    },
  ),
  row(
    "another call under the same idempotency key: IDEMPOTENCY_MISMATCH",
    { caller: { balance: 1_000n } },
    async (world, agent) => {
      const headers = { "Idempotency-Key": "again" };
      await world.call(agent, PAID.tool, PAID.params, { headers });
      return { ...tool(ECHO), headers };
    },
  ),
  row("a proof of nothing on the chain yet: INVALID_PAYMENT 402", {}, async (world, agent) => {
    const { quote } = (await buy(world, agent)).body;
    return { ...tool(PAID), headers: xPayment("5".repeat(87), quote.quote_id) };
  }),
  row("a proof that is none: INVALID_PAYMENT 400", {}, () => ({
    ...tool(PAID),
    headers: { "X-Payment": "not a proof" },
  })),
  row("a header key that differs from the body's", { ownWordsInMcp: true }, () => ({
    ...tool({ ...ECHO, idempotency_key: "a" }),
    headers: { "Idempotency-Key": "b" },
  })),
  row("a header key of 256 characters", {}, () => ({
    ...tool(ECHO),
    headers: { "Idempotency-Key": "k".repeat(256) },
  })),
  row("a call of no tool", { ownWordsInMcp: true }, () => tool({ tool: "", params: {} })),
  row("an unknown tool", { ownWordsInMcp: true }, () => tool({ tool: "nothing", params: {} })),
  row("an announced tool", { ownWordsInMcp: true }, () => tool({ tool: "gpu_provision", params: {} })),
  row("params of the wrong type", {}, () => tool({ tool: "echo", params: { message: 1 } })),
  row("an unknown parameter", {}, () => tool({ tool: "echo", params: { message: "", extra: [{}] } })),
  row("an idempotency key that is no key", { ownWordsInMcp: true }, () =>
    tool({ tool: "echo", params: { message: "" }, idempotency_key: "ü" }),
  ),
  row("a key without the scope", { caller: { scopes: ["billing:read"] } }, () => tool(PAID)),
  row("no key", { caller: "stranger" }, () => tool(PAID)),
  row("an unknown key", { caller: "impostor" }, () => tool(PAID)),
  row("a key that called too often", { caller: { ratePerMinute: 1, burst: 1 } }, async (world, agent) => {
    await world.call(agent, "echo", { message: "" });
    return tool(ECHO);
  }),
  row("receipts, a page of them", { caller: { balance: 10_000n } }, async (world, agent) => {
    for (const _ of [1, 2, 3]) await buy(world, agent);
    return listReceipts({ limit: 2, status: ReceiptStatus.FINAL }, "?limit=2&status=final");
  }),
  row("price of a call", { caller: { balance: 400n } }, () => price(PAID)),
  row("price of an unknown tool", {}, () => price({ tool: "nothing", params: {} })),
  row("transaction of an unknown quote", {}, () => {
    const payer = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";
    return {
      method: PaymentService.method.buildTransaction,
      request: { quoteId: "qt_made", payer },
      path: "/v1/payments/transaction",
      body: { quote_id: "qt_made", payer },
    };
  }),
  row("receipts, when there are none", {}, () => listReceipts({})),
  row("receipts with a limit that is too high", {}, () => listReceipts({ limit: 101 }, "?limit=101")),
  row("receipts with a cursor of nobody's", {}, () => listReceipts({ cursor: "x" }, "?cursor=x")),
  row("receipts without the scope", { caller: { scopes: ["compute:read"] } }, () => listReceipts({})),
  row("one receipt", { caller: { balance: 1_000n } }, async (world, agent) => {
    const id = (await buy(world, agent)).body.receipt.receipt_id;
    return { method: ReceiptService.method.getReceipt, request: { id }, path: `/receipts/${id}` };
  }),
  row("a receipt of another's", {}, async (world) => {
    const other = await world.agent({ balance: 1_000n });
    const id = (await buy(world, other)).body.receipt.receipt_id;
    return { method: ReceiptService.method.getReceipt, request: { id }, path: `/receipts/${id}` };
  }),
  row("runs, all completed ones", { caller: { balance: 10_000n } }, async (world, agent) => {
    for (const _ of [1, 2]) await buy(world, agent);
    const request = { status: RunStatus.COMPLETED };
    return { method: RunService.method.listRuns, request, path: "/runs?status=completed" };
  }),
  row("one run", { caller: { balance: 1_000n } }, async (world, agent) => {
    const id = (await buy(world, agent)).body.receipt.run_id;
    return { method: RunService.method.getRun, request: { id }, path: `/runs/${id}` };
  }),
  row("runs without the scope", { caller: { scopes: ["billing:read"] } }, () => ({
    method: RunService.method.listRuns,
    request: {},
    path: "/runs",
  })),
  row("a run that never was", {}, () => ({
    method: RunService.method.getRun,
    request: { id: "run_x" },
    path: "/runs/run_x",
  })),
  row("capabilities, without a key", { caller: "stranger" }, () => ({
    method: ToolService.method.getCapabilities,
    request: {},
    path: "/mcp/capabilities",
  })),
  row("capabilities, with an unknown key", { caller: "impostor" }, () => ({
    method: ToolService.method.getCapabilities,
    request: {},
    path: "/mcp/capabilities",
  })),
  row("health", { caller: "stranger" }, () => ({
    method: HealthService.method.getHealth,
    request: {},
    path: "/health",
  })),
];
