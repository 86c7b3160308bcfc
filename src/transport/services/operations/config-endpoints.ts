import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  ConfigChangeSchema,
  ConfigInstanceSchema,
  ConfigVersionSchema,
  type OperationsService,
} from "#gen/toolgate/v1/operations_service_pb.ts";
import type {
  ConfigAdmin,
  ConfigApplication,
  ConfigVersion,
} from "../../../app/operations/config-versions.ts";
import type { ConfigChange } from "../../../domain/operations/config-changes.ts";
import { invalidField } from "../../../domain/core/errors.ts";
import { isJsonObject, type JsonObject } from "../../../domain/core/json.ts";
import { DEFAULT_LIMIT } from "../page.ts";
import type { Methods } from "../../endpoint.ts";

type ConfigMethod =
  | "validateConfig"
  | "planConfig"
  | "tryTool"
  | "applyConfig"
  | "listConfigVersions"
  | "getConfigVersion"
  | "rollBackConfig";

/** Longer than an instance polls that misses a notification. */
const WAIT_SECONDS = 30;

/** The methods of the operations service that read and change the configuration. */
export function configEndpoints(admin: ConfigAdmin): Pick<Methods<typeof OperationsService>, ConfigMethod> {
  /** Waits for the instances; the version stays in force if the caller leaves. */
  const switched = async (made: ConfigApplication, waitSeconds = WAIT_SECONDS, signal: AbortSignal) => {
    const { live: instances, behind } = await admin.awaitSwitch(made.version, 1_000 * waitSeconds, signal);
    return {
      ...applicationMessage(made),
      instances,
      behind: behind.map(({ instance, version }) => create(ConfigInstanceSchema, { instance, version })),
    };
  };
  return {
    async validateConfig({ document }) {
      const { problems, warnings } = await admin.validate(document);
      return { problems: [...problems], warnings: [...warnings] };
    },
    async planConfig({ document }) {
      const { version, changes, warnings } = await admin.plan(document);
      return { version, changes: changes.map(changeMessage), warnings: [...warnings] };
    },
    async listConfigVersions({ limit = DEFAULT_LIMIT, cursor }) {
      const { items, nextCursor } = await admin.list({ limit, cursor });
      return { items: items.map(versionMessage), nextCursor };
    },
    async getConfigVersion({ version }) {
      const found = await admin.show(version);
      return { version: versionMessage(found), document: found.document };
    },
    tryTool: {
      key: "required",
      action: {
        name: () => "tools.try",
        target: ({ tool }) => tool,
        details: ({ document, tool }) => admin.trialDetails(document, tool),
      },
      async handle({ document, tool, params }, { signal }) {
        const tried = await admin.tryTool(document, { tool, params: paramsIn(params) }, signal);
        return {
          priceUsdcMicrousd: tried.price,
          chargeUsdcMicrousd: tried.charge,
          result: JSON.stringify(tried.result),
        };
      },
    },
    applyConfig: {
      key: "required",
      action: { name: () => "config.apply", target: targetOf, details: detailsOf },
      async handle({ document, expectedVersion: expected, note, waitSeconds }, { caller, signal }) {
        const decision = { actor: caller.keyId, note: note || undefined, expected };
        return switched(await admin.apply(document, decision), waitSeconds, signal);
      },
    },
    rollBackConfig: {
      key: "required",
      action: {
        name: () => "config.rollback",
        target: targetOf,
        details: ({ version = null, ...request }) => ({ version, ...detailsOf(request) }),
      },
      async handle({ version, expectedVersion: expected, note, waitSeconds }, { caller, signal }) {
        const decision = { actor: caller.keyId, note: note || undefined, expected };
        return switched(await admin.rollBack(version, decision), waitSeconds, signal);
      },
    },
  };
}

/** @throws ToolgateError INVALID_REQUEST */
function paramsIn(text: string): JsonObject {
  try {
    const params: unknown = JSON.parse(text);
    if (isJsonObject(params)) return params;
  } catch {
    // The message below.
  }
  throw invalidField("params", 'must be a JSON object, e.g. {"city": "Bern"}');
}

interface Decision {
  readonly expectedVersion?: number | undefined;
  readonly note: string;
}

function targetOf({ expectedVersion = "any" }: { expectedVersion?: number | string | undefined }): string {
  return `configuration after version ${expectedVersion}`;
}

/** The document is in the history, so the log names its version only. */
function detailsOf({ expectedVersion, note }: Decision): JsonObject {
  return {
    ...(expectedVersion !== undefined && { expected_version: expectedVersion }),
    ...(note && { note }),
  };
}

function applicationMessage({ version, outcome, changes }: ConfigApplication) {
  return { version, applied: outcome === "applied", changes: changes.map(changeMessage) };
}

function changeMessage({ kind, affectsCallers, text }: ConfigChange) {
  return create(ConfigChangeSchema, { kind, affectsCallers, text });
}

function versionMessage({ version, appliedAt, source, actor, checksum, note = "" }: ConfigVersion) {
  return create(ConfigVersionSchema, {
    version,
    appliedAt: timestampFromDate(appliedAt),
    source,
    actor,
    checksum,
    note,
  });
}
