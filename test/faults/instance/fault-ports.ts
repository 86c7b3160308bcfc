import { setTimeout as sleep } from "node:timers/promises";
import { Catalogue } from "../../../src/app/calls/catalogue.ts";
import type { CallPorts } from "../../../src/gateway/call-tool-deps.ts";
import type { PreparedCall, ResultSink, Tool } from "../../../src/domain/tools/tool.ts";
import { PORT_CALLS } from "../points.ts";

/** Hooks of the fault run. */
export interface Watch {
  /** Called at a fault point. @throws Error when the tool must fail */
  readonly strike: (point: string) => Promise<void> | void;
  /** Minimum duration of the tool, ms. */
  readonly workMs: () => number;
  /** Called when a run's end arrives after its release: the fence refused it. */
  readonly onLost: () => void;
}

/** Adds a fault point before and after every port call of a tool call. */
export function watchedPorts(ports: CallPorts, watch: Watch): CallPorts {
  const tools = ports.catalogue.tools.map((tool) => disturbedTool(tool, watch));
  return {
    ...ports,
    ledger: disturbedPort("ledger", ports.ledger, watch),
    unpaidWork: disturbedPort("unpaidWork", ports.unpaidWork, watch),
    chain: disturbedPort("chain", ports.chain, watch),
    catalogue: new Catalogue(tools),
  };
}

async function at<Result>({ strike }: Watch, call: string, run: () => Promise<Result>): Promise<Result> {
  await strike(`${call}:before`);
  const result = await run();
  await strike(`${call}:after`);
  return result;
}

/** The port with its calls of {@link PORT_CALLS} disturbed. */
function disturbedPort<Port extends object>(name: string, port: Port, watch: Watch): Port {
  return new Proxy(port, {
    get(_, member) {
      const method: unknown = Reflect.get(port, member);
      if (typeof method !== "function") return method;
      return (...given: readonly unknown[]): unknown => {
        const run = (): unknown => Reflect.apply(method, port, given);
        const end = member === "release" ? `/${String(memberOf(given[0], "outcome"))}` : "";
        const call = `${name}.${String(member)}${end}`;
        if (!PORT_CALLS.includes(call)) return run();
        return at(watch, call, async () => {
          const ended = await run();
          if (memberOf(ended, "kind") === "lost") watch.onLost();
          return ended;
        });
      };
    },
  });
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function disturbedTool(tool: Tool, watch: Watch): Tool {
  const { modelApi } = tool;
  return overlaid(tool, {
    prepare: (params) => disturbedCall(tool.prepare(params), watch),
    ...(modelApi && {
      modelApi: overlaid(modelApi, {
        prepare: (form, body) => disturbedCall(modelApi.prepare(form, body), watch),
      }),
    }),
  });
}

function disturbedCall(prepared: PreparedCall, watch: Watch): PreparedCall {
  return overlaid(prepared, {
    run: (context) =>
      at(watch, "tool.run", async () => {
        await sleep(watch.workMs());
        const { output } = context;
        return prepared.run(output ? { ...context, output: disturbedSink(output, watch) } : context);
      }),
  });
}

/** A part is written at once, as parts must keep their order; a delay keeps the tool from writing more. */
function disturbedSink(output: ResultSink, { strike }: Watch): ResultSink {
  return {
    async write(part) {
      const before = strike("tool.write:before");
      await Promise.all([before, output.write(part), strike("tool.write:after")]);
    },
    closed: output.closed,
  };
}

/** The object with other members. The rest is read when it is needed: a tool changes with its servers. */
function overlaid<Thing extends object>(thing: Thing, members: Partial<Thing>): Thing {
  return new Proxy(thing, { get: (_, name) => Reflect.get(name in members ? members : thing, name) });
}
