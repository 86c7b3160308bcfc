import type { SelfTestStatus } from "../../domain/tools/sandbox.ts";

/** What the database allows: "read-only" on a standby; "old schema" until `migrate` has run. */
export type DatabaseState = "ok" | "unreachable" | "read-only" | "old schema";

export interface Health {
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
  readonly database: DatabaseState;
  readonly sandbox: SandboxState;
  readonly draining: boolean;
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

  async report(signal: AbortSignal): Promise<ReadinessReport> {
    const { health, sandbox: sandboxState, sandboxRequired, config } = this.#deps;
    const database = await health.state(signal);
    const sandbox = sandboxState();
    const draining = this.#draining;
    const proven = sandbox === "failed" ? !sandboxRequired : sandbox !== "running";
    return { ready: database === "ok" && proven && !draining, database, sandbox, draining, config: config() };
  }
}
