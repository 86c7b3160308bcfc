import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Page } from "../../domain/core/page.ts";
import type { ConfigChange } from "../../domain/operations/config-changes.ts";
import type { AppliedConfig, ConfigVersion } from "./config-versions.ts";

/** What is known of a document before it is in force. */
export interface CheckedDocument {
  /** Why no instance can use it. */
  readonly problems: readonly string[];
  /** Why this machine cannot use it, such as variables that are set on the instances only. */
  readonly warnings: readonly string[];
}

export interface ConfigPlan {
  /** The version in force; 0: none. */
  readonly version: number;
  readonly changes: readonly ConfigChange[];
  readonly warnings: readonly string[];
}

/** Result of a call that was only tried. */
export interface ToolTrial {
  readonly price: MicroUsd;
  /** What the call would be charged. */
  readonly charge: MicroUsd;
  readonly result: JsonObject;
}

/** Who changes the configuration and why. */
export interface ConfigDecision {
  readonly actor: string;
  readonly note: string | undefined;
  /** Version that must be in force, 0 for none; undefined: the one that is planned against. */
  readonly expected: number | undefined;
}

export interface ConfigApplication extends AppliedConfig {
  /** Changes from the version that was in force, `replaced`. */
  readonly changes: readonly ConfigChange[];
  readonly replaced: number;
}

/**
 * Changes of the configuration by operators. Documents are JSON with the content of their files.
 * Methods that take or find an invalid document throw ToolgateError INVALID_REQUEST with every problem.
 */
export interface ConfigAdmin {
  /** Returns the problems of a document; calls no server. */
  validate(document: string): Promise<CheckedDocument>;
  plan(document: string): Promise<ConfigPlan>;
  /**
   * Calls a custom tool of a document on its real server; nothing is charged or stored.
   * @throws ToolgateError INVALID_REQUEST, and those of the call
   */
  tryTool(
    document: string,
    call: { tool: string; params: JsonObject },
    signal: AbortSignal,
  ): Promise<ToolTrial>;
  /** @throws ToolgateError INVALID_REQUEST when another version than the expected one is in force */
  apply(document: string, decision: ConfigDecision): Promise<ConfigApplication>;
  /**
   * @param version undefined: the one before the version in force
   * @throws ToolgateError NOT_FOUND, and as {@link apply}
   */
  rollBack(version: number | undefined, decision: ConfigDecision): Promise<ConfigApplication>;
  /** @param version undefined: the one in force. @throws ToolgateError NOT_FOUND */
  show(version: number | undefined): Promise<ConfigVersion>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: { limit: number; cursor: string | undefined }): Promise<Page<ConfigVersion>>;
}
