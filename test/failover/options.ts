import { readOptions, UsageError, wholeNumber } from "../tooling/options.ts";
import { KINDS, type Kind } from "./kinds.ts";

const USAGE = `npm run failover [-- OPTIONS]

Lets the primary of three PostgreSQL servers fail while customers buy from three gateways. No acknowledged
call may be lost and none charged twice. Needs Debian's patroni, etcd-server, haproxy and postgresql.

  --failovers N    number of failovers (default: 20)
  --kinds A,B      how the primary fails: ${KINDS.join(", ")} (default: all)
  --seed N         seed of their order and of the customers (default: random)
  --customers N    concurrent customers (default: 20)
  --asynchronous   commits do not wait, and standbys are a second behind: shows what is lost
  --short          two failovers, killed and stopped, with few customers and a shorter lease
  --json           prints the report as JSON
  --quiet          prints no progress

Exit code: 0 without a violation, 1 for a violation, a failed run or a missing package, 2 for invalid options.
A signal ends the run at once with 128 and the signal's number.`;

/** Options of a run. */
export interface Options {
  readonly seed: number;
  readonly failovers: number;
  readonly kinds: readonly Kind[];
  readonly customers: number;
  readonly synchronous: boolean;
  /** Patroni's settings that differ from deploy/patroni/patroni.yml. */
  readonly patroni: Readonly<Record<string, unknown>>;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Parses the command line; ends the process when it is invalid. */
export function failoverOptions(): Options {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = {
    ...{ seed: text, failovers: text, kinds: text, customers: text },
    ...{ asynchronous: flag, short: flag, json: flag, quiet: flag },
  } as const;
  return readOptions(USAGE, { options }, ({ values }) => {
    const { short, seed, json, quiet } = values;
    const usual = short
      ? { failovers: "2", kinds: "killed,stopped", customers: "6" }
      : { failovers: "20", kinds: KINDS.join(","), customers: "20" };
    const { failovers = usual.failovers, kinds = usual.kinds, customers = usual.customers } = values;
    return {
      seed: seed === undefined ? Date.now() % 1_000_000 : wholeNumber("seed", seed, 0),
      failovers: wholeNumber("failovers", failovers, 1),
      kinds: kinds.split(",").map(kindOf),
      customers: wholeNumber("customers", customers, 1),
      synchronous: !values.asynchronous,
      // On a busy machine a primary may lose a lease as short as this.
      patroni: short ? { ttl: 12, loop_wait: 2, retry_timeout: 4 } : {},
      ...{ json, quiet },
    };
  });
}

function kindOf(name: string): Kind {
  const kind = KINDS.find((one) => one === name);
  if (kind) return kind;
  throw new UsageError(`there is no kind ${name}; there are ${KINDS.join(", ")}`);
}
