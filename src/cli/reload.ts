import type { Gateway } from "../gateway.ts";
import { ConfigError, readEnvironment, readServeConfig } from "../config/config.ts";
import type { ProcessLog } from "../log.ts";

/** Outcome of a reload, as `config reload` prints it. */
export interface ReloadReport {
  readonly ok: boolean;
  /** Why nothing was changed. */
  readonly problems: readonly string[];
  readonly changed: readonly string[];
  readonly need_restart: readonly string[];
  /** Version of the configuration in use; null when nothing was changed. */
  readonly version: number | null;
  readonly file_unused: string | null;
}

/** Reads the settings again and takes over those that need no restart: all of them or none. Never throws. */
export async function reloadSettings(
  gateway: Pick<Gateway, "reload">,
  log: ProcessLog,
): Promise<ReloadReport> {
  try {
    const next = readServeConfig(readEnvironment());
    const { changed, needRestart, version, unused = null } = await gateway.reload(next);
    log.setLevel(next.LOG_LEVEL);
    const level = needRestart.length > 0 ? "warn" : "info";
    log[level]({ changed, needRestart, version }, "settings reloaded");
    return { ok: true, problems: [], changed, need_restart: needRestart, version, file_unused: unused };
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : ["the database cannot be used"];
    log.error(
      { problems, ...(!(error instanceof ConfigError) && { err: error }) },
      "settings not reloaded: nothing changed",
    );
    return { ok: false, problems, changed: [], need_restart: [], version: null, file_unused: null };
  }
}
