import type { ServeConfig } from "../config/config.ts";
import type { Logger } from "../log.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SandboxDeps } from "../tools/sandbox/deps.ts";

/** The sandbox, as the tools need it, and its end. */
export interface OpenSandbox {
  readonly deps: SandboxDeps;
  close(): Promise<void>;
}

/** Opens the sandbox; undefined: the tools are announced only. */
export async function openSandbox(
  _config: ServeConfig,
  _postgres: Postgres,
  _log: Logger,
): Promise<OpenSandbox | undefined> {
  return undefined;
}
