import { isDeepStrictEqual } from "node:util";
import { Catalogue, CatalogueVersion } from "../app/calls/catalogue.ts";
import type { ConfigVersions } from "../app/operations/config-versions.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ConfigState } from "../app/operations/readiness.ts";
import { ConfigError, type ServeConfig, collectSecrets } from "../config/config.ts";
import type { Environment } from "../config/config-file.ts";
import type { Log } from "../domain/core/log.ts";
import { RELOADED_SETTINGS, settings } from "../config/settings.ts";
import { redactToo } from "../log.ts";
import { usedVersion, type UsedVersion, startVersion, type StartVersionDeps } from "./start-version.ts";
import type { ToolOpener, ToolVersion } from "./tool-version.ts";

/** How often the version in force is queried while notifications may be lost, ms. */
const POLL_MS = 500;

/**
 * After how long a version that this instance could not use is tried again, ms: a file may be there by then,
 * and the check of a document may have been overdue because the process stood still.
 */
const RETRY_MS = 30_000;

interface ConfigFollowerDeps {
  readonly versions: Pick<ConfigVersions, "newestNumber" | "find" | "onChange" | "live" | "use">;
  readonly opener: Pick<ToolOpener, "open">;
  readonly config: Pick<ServeConfig, "environment" | "CONFIG_POLL_MS">;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Switches the catalogue to the configuration in force. Calls end with the version they started with. */
export class ConfigFollower {
  readonly catalogue: Catalogue;
  readonly #deps: ConfigFollowerDeps;
  readonly #retiring = new Set<ToolVersion>();
  /** Variables that documents refer to. */
  #environment: Environment;
  #resolved: UsedVersion["resolved"];
  #tools: ToolVersion;
  /** The version in force, as far as known. */
  #newest: number;
  #working: Promise<void> = Promise.resolve();
  #queued = false;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** When the newest version is tried again; infinite if it is in use. */
  #retryAt = Number.POSITIVE_INFINITY;
  /** What the log says of it. */
  #unusable: object | undefined;
  /** Unavailable tools of the last scrape. */
  #reported: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #stopListening: () => void = () => {};

  private constructor(tools: ToolVersion, { version, resolved }: UsedVersion, deps: ConfigFollowerDeps) {
    this.#deps = deps;
    this.#environment = deps.config.environment;
    this.#resolved = resolved;
    this.#tools = tools;
    this.#newest = version;
    this.catalogue = new Catalogue(tools.tools, version);
    this.#report();
    deps.metrics.onScrape(() => this.#reportTools());
  }

  /** @throws ConfigError when this instance cannot use the version */
  static async open(used: UsedVersion, deps: ConfigFollowerDeps): Promise<ConfigFollower> {
    return new ConfigFollower(await deps.opener.open(used.resolved), used, deps);
  }

  get state(): ConfigState {
    const { version } = this.catalogue.current;
    return { version, newest: this.#newest };
  }

  start(): void {
    this.#stopListening = this.#deps.versions.onChange(() => this.check());
    const { CONFIG_POLL_MS } = this.#deps.config;
    this.#timer = setInterval(
      () => {
        const due = Math.min(this.#checkedAt + CONFIG_POLL_MS, this.#retryAt);
        if (!this.#deps.versions.live || performance.now() > due) this.check();
      },
      Math.min(POLL_MS, CONFIG_POLL_MS),
    );
    this.check();
  }

  /** Closes all connections, also those of calls that still run. */
  async close(): Promise<void> {
    this.#stopListening();
    clearInterval(this.#timer);
    await this.#working;
    const open = [...this.#retiring, this.#tools];
    this.#retiring.clear();
    await Promise.all(open.map((tools) => tools.close()));
  }

  /** Queries the version in force and switches to it; concurrent checks are one. */
  check(): void {
    if (this.#queued) return;
    this.#queued = true;
    this.#working = this.#working.then(() => this.#follow());
  }

  /**
   * Uses these variables from now on, and the version that `load` returns with them.
   * @throws whatever `load` and opening the tools throw; then nothing has changed here
   */
  async reload(environment: Environment, load: () => Promise<UsedVersion>): Promise<UsedVersion> {
    const reloading = this.#working.then(async () => {
      const used = await load();
      const same = used.version === this.catalogue.current.version;
      if (!same || !isDeepStrictEqual(used.resolved, this.#resolved)) await this.#switchTo(used, "reload");
      this.#environment = environment;
      this.#newest = used.version;
      this.#report();
      return used;
    });
    this.#working = Promise.allSettled([reloading]).then(() => undefined);
    return reloading;
  }

  async #follow(): Promise<void> {
    this.#queued = false;
    const { versions, log } = this.#deps;
    try {
      const newest = await versions.newestNumber();
      this.#checkedAt = performance.now();
      if (newest <= this.#newest && performance.now() < this.#retryAt) return;
      const found = await versions.find(newest);
      if (!found) return;
      this.#newest = newest;
      await this.#switchTo(usedVersion(found, { environment: this.#environment }), found.actor);
    } catch (error) {
      if (error instanceof ConfigError) this.#keepVersion(error);
      else {
        if (this.#newest > this.catalogue.current.version) this.#retryAt = performance.now();
        log.warn({ err: error }, "the configuration in force is not in use here; will retry");
      }
    }
    this.#report();
  }

  /** Logs the same problems once. */
  #keepVersion({ problems }: ConfigError): void {
    this.#retryAt = performance.now() + RETRY_MS;
    const unusable = { version: this.#newest, inUse: this.catalogue.current.version, problems };
    if (isDeepStrictEqual(unusable, this.#unusable)) return;
    this.#unusable = unusable;
    this.#deps.log.error(
      unusable,
      "this instance cannot use the configuration in force and keeps its version; will retry",
    );
  }

  async #switchTo({ version, resolved }: UsedVersion, actor: string): Promise<void> {
    const before = this.#tools;
    const next = await this.#deps.opener.open(resolved, before);
    const replaced = this.catalogue.replace(new CatalogueVersion(next.tools, version));
    this.#tools = next;
    this.#resolved = resolved;
    this.#retryAt = Number.POSITIVE_INFINITY;
    this.#unusable = undefined;
    this.#deps.log.info({ version, replaced: replaced.version, actor }, "configuration switched");
    this.#retiring.add(before);
    void this.#closeAfter(replaced.retire(), before);
  }

  async #closeAfter(lastCall: Promise<void>, tools: ToolVersion): Promise<void> {
    await lastCall;
    if (!this.#retiring.delete(tools)) return;
    await tools.close().catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, "connections of a replaced configuration could not be closed");
    });
  }

  /** Tools that a version no longer has are reported as fine. */
  #reportTools(): void {
    const unavailable = this.catalogue.tools.filter((tool) => tool.unavailableReason !== undefined);
    const names = new Set(unavailable.map(({ name }) => name));
    for (const name of new Set([...this.#reported, ...names]))
      this.#deps.metrics.set("toolgate_tool_unavailable", names.has(name) ? 1 : 0, { tool: name });
    this.#reported = names;
  }

  #report(): void {
    const { version, newest } = this.state;
    this.#deps.versions.use(version);
    this.#deps.metrics.set("toolgate_config_version", version);
    this.#deps.metrics.set("toolgate_config_behind", newest - version);
  }
}

export interface Reloaded {
  readonly changed: readonly string[];
  /** Settings that differ from those in use and need a restart. */
  readonly needRestart: readonly string[];
  /** Version of the configuration in use. */
  readonly version: number;
  /** Why the file of TOOLGATE_CONFIG is not in use; undefined when it is, or there is none. */
  readonly unused: string | undefined;
}

interface ReloaderDeps {
  readonly configuration: Pick<ConfigFollower, "reload">;
  readonly versions: StartVersionDeps["versions"];
  readonly actor: string;
  readonly log: Log;
}

/** Takes over settings that can change while calls run. */
export class Reloader {
  readonly #deps: ReloaderDeps;
  readonly #started: ServeConfig;
  #current: ServeConfig;
  #sandbox: ServeConfig["sandbox"];

  /** @param sandbox the section in use, which only a start changes */
  constructor(started: ServeConfig, sandbox: ServeConfig["sandbox"], deps: ReloaderDeps) {
    this.#started = started;
    this.#current = started;
    this.#sandbox = sandbox;
    this.#deps = deps;
  }

  /** @throws ConfigError when the configuration cannot be used; then everything stays as it is */
  async reload(next: ServeConfig): Promise<Reloaded> {
    const { configuration, versions, actor, log } = this.#deps;
    redactToo(collectSecrets(next));
    const used = await configuration.reload(next.environment, () =>
      startVersion(next, { versions, actor, log }),
    );
    const changed = differing(this.#current, next).filter((name) => RELOADED_SETTINGS.has(name));
    const needRestart = differing(this.#started, next).filter((name) => !RELOADED_SETTINGS.has(name));
    if (!isDeepStrictEqual(used.resolved.sandbox, this.#sandbox)) needRestart.push("sandbox");
    this.#current = next;
    return { changed, needRestart, version: used.version, unused: used.unused };
  }
}

function differing(one: ServeConfig, other: ServeConfig): string[] {
  const [before, after] = [new Map(Object.entries(one)), new Map(Object.entries(other))];
  return Object.keys(settings).filter((name) => !isDeepStrictEqual(before.get(name), after.get(name)));
}
