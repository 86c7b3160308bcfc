import { PAID_CALL, toolCallRequest } from "./http-request.ts";
import type { FleetJob, FleetRate } from "./instances-fleet.ts";
import type { Scale } from "./scale.ts";

/** Connections over all instances. */
export const CONNECTIONS = 64;
/** Fewer connections make smaller batches, which separates the cost of a batch from that of a call. */
const FEW = { paid: [4, 16], free: [16] };

/** Some calls, on some instances of one database, or some cells of one instance each. */
export interface Scenario extends FleetJob {
  readonly unit: "instance" | "cell";
  /** The calls, whatever the instances. */
  readonly calls: "many" | "hot" | "echo";
  readonly title: string;
  readonly paid: boolean;
}

type Kind = Omit<Scenario, "instances" | "connections">;

/** Results by rounds. */
export interface Measured {
  readonly scenario: Scenario;
  readonly rates: FleetRate[];
  /** Calls in a batch. */
  readonly batches: number[];
  /** Share of processor time stolen by other machines; empty if unknown. */
  readonly stolen: number[];
  /** Answered paid calls, including the warm-up. */
  charged: number;
}

/** The calls of many accounts, of one, and free ones. */
function kindsOf(keys: readonly string[], unit: Scenario["unit"]): Record<Scenario["calls"], Kind> {
  const everyone = keys.map((key) => toolCallRequest(key, PAID_CALL));
  const paid = { paid: true, expect: { status: 200, body: '"receipt_id":"rcpt_' } };
  const many: Kind = {
    calls: "many",
    unit,
    title: `paid call, ${keys.length} accounts`,
    requests: everyone,
    ...paid,
  };
  const hot: Kind = {
    calls: "hot",
    unit,
    title: "paid call, one account",
    requests: everyone.slice(0, 1),
    ...paid,
  };
  const echo: Kind = {
    calls: "echo",
    unit,
    title: "echo",
    paid: false,
    requests: [toolCallRequest(keys[0] ?? "", { tool: "echo", params: { message: "hello, gateway" } })],
    expect: { status: 200, body: '{"ok":true,"result":{"echo":"hello, gateway"}' },
  };
  return { many, hot, echo };
}

/** One of them with few connections, for the model. */
function alone({ many, echo }: Record<Scenario["calls"], Kind>): Scenario[] {
  return [
    ...FEW.paid.map((connections): Scenario => ({ ...many, instances: 1, connections })),
    ...FEW.free.map((connections): Scenario => ({ ...echo, instances: 1, connections })),
  ];
}

/**
 * Returns the same calls on one and on several instances, with the same total connections or the same per
 * instance.
 */
export function scenariosOf(keys: readonly string[], { instances: counts, everyLoad }: Scale): Scenario[] {
  const { many, hot, echo } = kindsOf(keys, "instance");
  const most = Math.max(...counts);
  const kinds = everyLoad ? [many, hot, echo] : [many, echo];
  return [
    ...alone({ many, hot, echo }),
    ...kinds.flatMap((kind) =>
      counts.map((instances): Scenario => ({ ...kind, instances, connections: CONNECTIONS })),
    ),
    ...(everyLoad ? [many, hot] : []).map((kind): Scenario => ({
      ...kind,
      instances: most,
      connections: CONNECTIONS * most,
    })),
  ];
}

/** Returns the same calls on one and on several cells, with the same connections to each. */
export function cellScenariosOf(keys: readonly string[], cells: number): Scenario[] {
  const kinds = kindsOf(keys, "cell");
  const counts = Array.from({ length: cells }, (_, at) => at + 1);
  return [
    ...alone(kinds),
    ...[kinds.many, kinds.echo].flatMap((kind) =>
      counts.map((instances): Scenario => ({ ...kind, instances, connections: CONNECTIONS * instances })),
    ),
  ];
}

/** Name of a scenario in the tables. */
export function titleOf({ title, unit, instances, connections }: Scenario): string {
  return `${title}, ${instances} ${unit}${instances === 1 ? "" : "s"}, ${connections} connections`;
}
