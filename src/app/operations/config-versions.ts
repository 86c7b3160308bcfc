import type { Tiers } from "../../domain/accounts/caller.ts";
import { invalidField } from "../../domain/core/errors.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { ConfigChange } from "../../domain/operations/config-changes.ts";

/** How a version came into force: the file of a starting instance, or an operator's decision. */
export type ConfigSource = "start" | "apply" | "rollback";

/** A stored version of the configuration. The newest is in force. */
export interface ConfigVersion {
  /** From 1 on. */
  readonly version: number;
  /** JSON text, without secrets. */
  readonly document: string;
  /** SHA-256 of the document, hex. */
  readonly checksum: string;
  readonly source: ConfigSource;
  /** The operator, or the instance that started with the file. */
  readonly actor: string;
  readonly note: string | undefined;
  readonly appliedAt: Date;
}

export interface NewConfigVersion extends Pick<ConfigVersion, "document" | "source" | "actor" | "note"> {
  /** Version that must be in force, 0 for none; undefined: any. */
  readonly expected: number | undefined;
  /** Of the document: accounts have them when it is in force. */
  readonly tiers: Tiers;
}

/** Result of {@link ConfigVersions.apply}; `version` is in force. */
export interface AppliedConfig {
  /** unchanged: the version in force has this document. conflict: `expected` is not in force. */
  readonly outcome: "applied" | "unchanged" | "conflict";
  readonly version: number;
}

/** A process that serves now. */
export interface LiveInstance {
  readonly instance: string;
  /** Version that it uses, 0 for its own; undefined: it does not say. */
  readonly version: number | undefined;
}

/** Versions of the configuration, append-only. */
export interface ConfigVersions {
  /** The version in force; undefined before the first. */
  newest(): Promise<ConfigVersion | undefined>;
  /** Number of the version in force; 0 before the first. */
  newestNumber(): Promise<number>;
  find(version: number): Promise<ConfigVersion | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: PageRequest): Promise<Page<ConfigVersion>>;
  /** Tiers in force that these lack although accounts have them, with the number of accounts. */
  tiersMissed(tiers: Tiers): Promise<{ name: string; accounts: number }[]>;
  /**
   * Stores a version unless it is in force already. One of several concurrent attempts comes first.
   * @throws ToolgateError INVALID_REQUEST when an account has a tier that the document lacks
   */
  apply(version: NewConfigVersion): Promise<AppliedConfig>;
  /** Shows other processes which version this one uses. */
  use(version: number): void;
  instances(): Promise<readonly LiveInstance[]>;
  /** Calls the listener when another version may be in force, until the returned function is called. */
  onChange(listener: () => void): () => void;
  /** Whether {@link onChange} reports every change at once; otherwise it has to be polled. */
  readonly live: boolean;
}

/** Returns why these tiers cannot come into force. */
export async function tierProblems(
  versions: Pick<ConfigVersions, "tiersMissed">,
  tiers: Tiers,
): Promise<string[]> {
  const missed = await versions.tiersMissed(tiers);
  return missed.map(
    ({ name, accounts }) =>
      `tiers.${name}: cannot be removed: ${accounts} account${accounts === 1 ? " has" : "s have"} it; ` +
      "give them another one by accounts tier --tier",
  );
}

/** @throws ToolgateError INVALID_REQUEST when another version than the expected one was in force */
export function requireApplied(applied: AppliedConfig, expected: number | undefined): AppliedConfig {
  if (applied.outcome !== "conflict") return applied;
  throw invalidField(
    "expected_version",
    `is ${expected}, and version ${applied.version} is in force by now; plan again`,
  );
}

/** What is known of a document before it is in force. */
export interface CheckedDocument {
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

export interface SwitchReport {
  /** Number of processes that serve. */
  readonly live: number;
  readonly behind: readonly LiveInstance[];
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
  /** Returns what the operator log keeps of a trial: the document's hash and variables, the tool's hosts. */
  trialDetails(document: string, tool: string): JsonObject;
  /** @throws ToolgateError INVALID_REQUEST when another version than the expected one is in force */
  apply(document: string, decision: ConfigDecision): Promise<ConfigApplication>;
  /**
   * @param version undefined: the one before the version in force
   * @throws ToolgateError NOT_FOUND, and as {@link apply}
   */
  rollBack(version: number | undefined, decision: ConfigDecision): Promise<ConfigApplication>;
  /** Waits until all instances use a version or a later one. @returns those that do not by then */
  awaitSwitch(version: number, waitMs: number, signal?: AbortSignal): Promise<SwitchReport>;
  /** @param version undefined: the one in force. @throws ToolgateError NOT_FOUND */
  show(version: number | undefined): Promise<ConfigVersion>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: PageRequest): Promise<Page<ConfigVersion>>;
}
