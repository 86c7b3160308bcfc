import { tierProblems, type ConfigVersion, type ConfigVersions } from "../app/operations/config-versions.ts";
import { ConfigError, type ServeConfig, collectSecrets } from "../config/config.ts";
import { parseDocument, resolveDocument, type ResolvedDocument } from "../config/document.ts";
import type { Log } from "../domain/core/log.ts";
import { redactToo } from "../log.ts";
import { customToolProblems } from "./custom-tools.ts";

export interface UsedVersion {
  /** 0: its own, not stored. */
  readonly version: number;
  readonly resolved: Omit<ResolvedDocument, "problems">;
  /** Why the file of TOOLGATE_CONFIG is not used, if it differs. */
  readonly unused?: string;
}

export interface StartVersionDeps {
  readonly versions: Pick<ConfigVersions, "newest" | "apply" | "tiersMissed">;
  readonly actor: string;
  readonly log: Log;
}

type FileSettings = Pick<ServeConfig, "document" | "environment" | "TOOLGATE_CONFIG_APPLY"> &
  UsedVersion["resolved"];

/**
 * Returns the configuration in force. Applies the file of TOOLGATE_CONFIG first if it differs and the
 * setting allows it.
 * @throws ConfigError when this instance cannot use it
 */
export async function startVersion(config: FileSettings, deps: StartVersionDeps): Promise<UsedVersion> {
  const { versions, actor, log } = deps;
  const { document } = config;
  const newest = await versions.newest();
  if (document === undefined || document.checksum === newest?.checksum) {
    if (newest === undefined) return { version: 0, resolved: config };
    return usedVersion(newest, config);
  }
  if (!mayApply(config, newest)) {
    if (newest === undefined) return { version: 0, resolved: config };
    const { version, actor: by } = newest;
    log.warn(
      { version, actor: by, setting: config.TOOLGATE_CONFIG_APPLY },
      "TOOLGATE_CONFIG differs from the configuration in force and is not used; apply it by config apply",
    );
    const unused = `differs from version ${version}, applied by ${by}; apply the file by config apply`;
    return { ...usedVersion(newest, config), unused };
  }
  // A file that cannot be used must not reach the other instances.
  const { tiers } = document.content;
  const problems = [...(await customToolProblems(config, log)), ...(await tierProblems(versions, tiers))];
  if (problems.length > 0) throw new ConfigError(problems);
  const applied = await versions.apply({
    document: document.text,
    tiers,
    source: "start",
    actor,
    note: undefined,
    expected: newest?.version ?? 0,
  });
  // Another instance applied one meanwhile, which may be the same.
  if (applied.outcome !== "applied") return startVersion(config, deps);
  log.info({ version: applied.version }, "applied the file of TOOLGATE_CONFIG");
  return { version: applied.version, resolved: config };
}

/** Parses a stored version and merges it with the environment. @throws ConfigError with every problem */
export function usedVersion(
  { version, document }: Pick<ConfigVersion, "version" | "document">,
  { environment }: Pick<ServeConfig, "environment">,
): UsedVersion {
  const source = `configuration version ${version}`;
  const { problems, ...resolved } = resolveDocument(
    parseDocument(document, source).content,
    environment,
    process.cwd(),
  );
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${source}: ${problem}`));
  redactToo(collectSecrets({ DATABASE_URL: undefined, ...resolved }));
  return { version, resolved };
}

/** An operator's version stays until an operator replaces it. */
function mayApply({ TOOLGATE_CONFIG_APPLY }: FileSettings, newest: ConfigVersion | undefined): boolean {
  if (TOOLGATE_CONFIG_APPLY === "auto") return newest === undefined || newest.source === "start";
  return TOOLGATE_CONFIG_APPLY === "always";
}
