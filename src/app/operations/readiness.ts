import type { SelfTestStatus } from "../../domain/tools/sandbox.ts";

/** What the database allows: "read-only" on a standby; "old schema" until `migrate` has run. */
export type DatabaseState = "ok" | "unreachable" | "read-only" | "old schema";

/** Difference of an instance's clock from the database's that is reported, and that makes it unready, ms. */
export const [CLOCK_WARN_MS, CLOCK_UNREADY_MS] = [5_000, 30_000];

export interface Health {
  /** How far this instance's clock is ahead of the database's, ms. */
  readonly clockAheadMs: number;
  /** Whether calls can be served: {@link state} is "ok". */
  check(signal: AbortSignal): Promise<boolean>;
  /** Returns "unreachable" when the signal aborts. */
  state(signal: AbortSignal): Promise<DatabaseState>;
}

export type SandboxState = SelfTestStatus | "off";

/** Version of the configuration that an instance uses, and the one in force. */
export interface ConfigState {
  readonly version: number;
  /** Differs while the instance cannot use it. */
  readonly newest: number;
}

export interface ReadinessReport {
  readonly ready: boolean;
  /** "excluded": it was not asked. */
  readonly database: DatabaseState | "excluded";
  readonly sandbox: SandboxState;
  readonly draining: boolean;
  readonly clock: { readonly ok: boolean; readonly ahead_seconds: number };
  /** An instance that cannot use the version in force serves with the one before, and is ready. */
  readonly config: ConfigState;
}

export interface ReadinessDeps {
  readonly health: Health;
  readonly sandbox: () => SandboxState;
  /** Whether an instance without a working sandbox must not take calls. */
  readonly sandboxRequired: boolean;
  readonly config: () => ConfigState;
}

const NONE: ReadonlySet<string> = new Set();

/** Whether this instance may take traffic. */
export class Readiness {
  readonly #deps: ReadinessDeps;
  #draining = false;

  constructor(deps: ReadinessDeps) {
    this.#deps = deps;
  }

  /** Makes the instance unready for good; it still serves what arrives. */
  drain(): void {
    this.#draining = true;
  }

  /** @param excluded names of checks that must not make it unready; others are ignored */
  async report(signal: AbortSignal, excluded: ReadonlySet<string> = NONE): Promise<ReadinessReport> {
    const { health, sandbox: sandboxState, sandboxRequired, config } = this.#deps;
    const database = excluded.has("database") ? "excluded" : await health.state(signal);
    const sandbox = sandboxState();
    const draining = this.#draining;
    const proven = sandbox === "failed" ? !sandboxRequired : sandbox !== "running";
    const clock = {
      ok: Math.abs(health.clockAheadMs) < CLOCK_UNREADY_MS,
      ahead_seconds: health.clockAheadMs / 1_000,
    };
    const passed = { database: database === "ok", sandbox: proven, clock: clock.ok, draining: !draining };
    const ready = Object.entries(passed).every(([name, ok]) => ok || excluded.has(name));
    return { ready, database, sandbox, draining, clock, config: config() };
  }
}
