import { setTimeout as sleep } from "node:timers/promises";
import { Catalogue } from "../../src/app/calls/catalogue.ts";
import type { CallPorts } from "../../src/gateway/call-tool-deps.ts";
import type { PreparedCall, ResultSink, Tool } from "../../src/domain/tools/tool.ts";
import type { PortCall, PortPoint } from "./points.ts";

/**
 * Called at a fault point.
 * @throws Error when the tool must fail
 */
export type Strike = (point: PortPoint) => Promise<void> | void;

/** Hooks of the fault run. */
export interface Watch {
  readonly strike: Strike;
  /** Minimum duration of the tool, ms. */
  readonly workMs: () => number;
  /** Called when a run's end arrives after its release: the fence refused it. */
  readonly onLost: () => void;
}

/** Adds a fault point before and after every port call of a tool call. */
export function around(ports: CallPorts, { strike, workMs, onLost }: Watch): CallPorts {
  const at = async <Result>(call: PortCall, run: () => Promise<Result>): Promise<Result> => {
    await strike(`${call}:before`);
    const result = await run();
    await strike(`${call}:after`);
    return result;
  };
  const { ledger, chain, catalogue, unpaidWork } = ports;
  return {
    ...ports,
    ledger: {
      findPrior: (query) => at("ledger.findPrior", () => ledger.findPrior(query)),
      authorize: (call) => at("ledger.authorize", () => ledger.authorize(call)),
      capture: async (run) => {
        const ended = await at("ledger.capture", () => ledger.capture(run));
        if (ended.kind === "lost") onLost();
        return ended;
      },
      release: async (run) => {
        const ended = await at(`ledger.release/${run.outcome}`, () => ledger.release(run));
        if (ended.kind === "lost") onLost();
        return ended;
      },
      credit: (accountId, deposit) => at("ledger.credit", () => ledger.credit(accountId, deposit)),
      balance: (accountId) => at("ledger.balance", () => ledger.balance(accountId)),
      // Not part of a call.
      refusalOf: (call) => ledger.refusalOf(call),
    },
    unpaidWork: {
      requireAllowance: (accountId, tool) => unpaidWork.requireAllowance(accountId, tool),
      charged: (accountId, tool) => unpaidWork.charged(accountId, tool),
      failed: (accountId, tool) => at("unpaidWork.failed", () => unpaidWork.failed(accountId, tool)),
    },
    chain: { verify: (query) => at("chain.verify", () => chain.verify(query)) },
    catalogue: new Catalogue(catalogue.tools.map((tool) => disturbed(tool, { strike, workMs, at }))),
  };
}

interface Disturbance extends Pick<Watch, "strike" | "workMs"> {
  at<Result>(call: PortCall, run: () => Promise<Result>): Promise<Result>;
}

/** The tool with fault points. Its status changes with its model servers, so it is read each time. */
function disturbed(tool: Tool, disturbance: Disturbance): Tool {
  const { openai } = tool;
  return {
    ...tool,
    get status() {
      return tool.status;
    },
    get description() {
      return tool.description;
    },
    get inputSchema() {
      return tool.inputSchema;
    },
    prepare: (params) => disturbedCall(tool.prepare(params), disturbance),
    ...(openai && {
      openai: {
        get models() {
          return openai.models;
        },
        prepare: (body) => disturbedCall(openai.prepare(body), disturbance),
      },
    }),
  };
}

function disturbedCall(prepared: PreparedCall, { strike, workMs, at }: Disturbance): PreparedCall {
  return {
    get price() {
      return prepared.price;
    },
    run: (context) =>
      at("tool.run", async () => {
        await sleep(workMs());
        const { output } = context;
        return prepared.run(output ? { ...context, output: disturbedSink(output, strike) } : context);
      }),
  };
}

/** A part is written at once, as parts must keep their order; a delay keeps the tool from writing more. */
function disturbedSink(output: ResultSink, strike: Strike): ResultSink {
  return {
    async write(part) {
      const before = strike("tool.write:before");
      await Promise.all([before, output.write(part), strike("tool.write:after")]);
    },
    closed: output.closed,
  };
}
