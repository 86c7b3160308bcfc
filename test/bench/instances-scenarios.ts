import { PAID_CALL, toolCallRequest } from "./http-request.ts";
import type { FleetJob, FleetRate } from "./instances-fleet.ts";
import type { Scale } from "./scale.ts";

/** Connections over all instances. */
export const CONNECTIONS = 64;
/** Fewer connections make smaller batches, which separates the cost of a batch from that of a call. */
const FEW = { paid: [4, 16], free: [16] };

/** Some calls, on some instances. */
export interface Scenario extends FleetJob {
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

/**
 * Returns the same calls on one and on several instances, with the same total connections or the same per
 * instance.
 */
export function scenariosOf(keys: readonly string[], { instances: counts, everyLoad }: Scale): Scenario[] {
  const everyone = keys.map((key) => toolCallRequest(key, PAID_CALL));
  const paid = { paid: true, expect: { status: 200, body: '"receipt_id":"rcpt_' } };
  const most = Math.max(...counts);
  const many: Kind = {
    calls: "many",
    title: `paid call, ${keys.length} accounts`,
    requests: everyone,
    ...paid,
  };
  const hot: Kind = {
    calls: "hot",
    title: "paid call, one account",
    requests: everyone.slice(0, 1),
    ...paid,
  };
  const echo: Kind = {
    calls: "echo",
    title: "echo",
    paid: false,
    requests: [toolCallRequest(keys[0] ?? "", { tool: "echo", params: { message: "hello, gateway" } })],
    expect: { status: 200, body: '{"ok":true,"result":{"echo":"hello, gateway"}' },
  };
  const kinds = everyLoad ? [many, hot, echo] : [many, echo];
  return [
    ...FEW.paid.map((connections): Scenario => ({ ...many, instances: 1, connections })),
    ...FEW.free.map((connections): Scenario => ({ ...echo, instances: 1, connections })),
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

/** Name of a scenario in the tables. */
export function titleOf({ title, instances, connections }: Scenario): string {
  return `${title}, ${instances === 1 ? "1 instance" : `${instances} instances`}, ${connections} connections`;
}
