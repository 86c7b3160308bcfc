import { isDeepStrictEqual } from "node:util";
import type { ServeConfig } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import { RELOADED_SETTINGS, settings } from "../config/settings.ts";
import type { Log } from "../domain/core/log.ts";
import { redactToo } from "../log.ts";
import type { ConfigFollower } from "./config-follower.ts";
import { startVersion, type StartVersionDeps } from "./start-version.ts";

/** What a reload did. */
export interface Reloaded {
  /** Settings whose new value is in use. */
  readonly changed: readonly string[];
  /** Settings that differ from those in use and need a restart. */
  readonly needRestart: readonly string[];
  /** Version of the configuration in use. */
  readonly version: number;
  /** Why the file of TOOLGATE_CONFIG is not in use; undefined when it is, or there is none. */
  readonly unused: string | undefined;
}

export interface ReloaderDeps {
  readonly configuration: Pick<ConfigFollower, "reload">;
  readonly versions: StartVersionDeps["versions"];
  /** The instance. */
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
