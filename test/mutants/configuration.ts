import { sqlFile, type Mutant } from "./mutant.ts";

const INSTANCES = ["test/instances/config-versions.test.ts"];
const CALLS = ["test/app/calls/call-tool.test.ts"];
const OPERATIONS = ["test/transport/services/operations/operations-service.test.ts"];
const CATALOGUE = "src/app/calls/catalogue.ts";

/** Prices change under running calls. */
export const CONFIGURATION: readonly Mutant[] = [
  {
    name: "run-names-version",
    guard: "A run names the version of the configuration that priced and runs it.",
    file: "src/app/calls/buy-call.ts",
    find: "configVersion: call.configVersion",
    replace: "configVersion: 0",
    tests: CALLS,
  },
  {
    name: "version-open-for-calls",
    guard: "A replaced version keeps its connections until its last call ends.",
    file: CATALOGUE,
    find: "if (this.#replaced && this.#calls === 0)",
    replace: "if (this.#replaced)",
    tests: CALLS,
  },
  {
    name: "version-expected",
    guard: "A version that was planned against another one than that in force is not applied.",
    file: sqlFile("functions/config_apply.sql"),
    find: "elsif expected <> coalesce(newest.version, 0) then",
    replace: "elsif false then",
    tests: INSTANCES,
  },
  {
    name: "tier-notified",
    guard: "A changed tier limits requests at once, although instances cache the limits of keys.",
    file: sqlFile("triggers/notify_tier_change.sql"),
    find: "perform pg_notify('toolgate_key', 'tier:' || new.name);",
    replace: "perform 1;",
    tests: INSTANCES,
    only: "a change of the configuration",
  },
  {
    name: "tier-in-use",
    guard: "A configuration that lacks a tier of an account is refused before it is applied.",
    file: "src/gateway/config-admin.ts",
    find: "[...own, ...(await tierProblems(this.#deps.versions, document.content.tiers))]",
    replace: "[...own]",
    tests: OPERATIONS,
  },
  {
    name: "version-notified",
    guard: "Instances switch to a new version when it is applied, not at their next poll.",
    file: sqlFile("triggers/notify_config_version.sql"),
    find: "perform pg_notify('toolgate_config', new.version::text);",
    replace: "perform 1;",
    tests: INSTANCES,
    only: "a notification",
  },
  {
    name: "document-own-settings",
    guard: "A document cannot send a setting of the gateway, such as the database's password, to a server.",
    file: "src/config/document.ts",
    find: "const problems = ownSettings(content);",
    replace: "const problems: string[] = [];",
    tests: OPERATIONS,
  },
  {
    name: "document-own-files",
    guard: "A document from elsewhere makes no instance read one of its files.",
    file: "src/gateway/document-check.ts",
    find: "[...anywhere.problems, ...missing]",
    replace: "[...anywhere.problems]",
    tests: OPERATIONS,
  },
];
