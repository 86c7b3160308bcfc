import { open } from "node:fs/promises";
import type { ApiKey, ApiKeys } from "../../app/accounts/api-keys.ts";
import type { Seal } from "../../app/operations/audit.ts";
import type { OperatorActionLog } from "../../app/operations/operator-actions.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { withoutApiKeys } from "./operator-actions.ts";

interface LoggedStores {
  readonly apiKeys: ApiKeys;
  readonly operatorActions: OperatorActionLog;
}

/**
 * Appends operator actions and revoked keys to a file, which survives a restore of the database. An action
 * that cannot be written is not run; a revocation is repeated until it is written.
 * @param file undefined: changes nothing
 */
export function withOperatorLogFile({ apiKeys, operatorActions }: LoggedStores, file: string | undefined) {
  if (file === undefined) return { apiKeys, operatorActions };
  const write = (line: object) => append(file, line);
  return {
    apiKeys: {
      ...apiKeys,
      rotate: async (rotation) => {
        const rotated = await apiKeys.rotate(rotation);
        await write(revocationOf(rotated.oldKey));
        return rotated;
      },
      revoke: async (keyId, accountId) => {
        const key = await apiKeys.revoke(keyId, accountId);
        await write(revocationOf(key));
        return key;
      },
    } satisfies ApiKeys,
    operatorActions: {
      list: (query) => operatorActions.list(query),
      recordFailure: (actionId, failure) => operatorActions.recordFailure(actionId, failure),
      record: async (action) => {
        const actionId = await operatorActions.record(action);
        const { actor, name, target, details } = action;
        const more = { actor: actor.name, action: name, target, details };
        await write({ event: "operator_action", action_id: actionId, at: new Date(), ...more });
        return actionId;
      },
    } satisfies OperatorActionLog,
  };
}

/** A replaced key ends at its expiry. */
function revocationOf({ keyId, revokedAt, limits }: ApiKey): object {
  return { event: "key_revoked", key_id: keyId, at: revokedAt ?? limits?.expiresAt };
}

/** @throws ToolgateError UNAVAILABLE */
async function append(file: string, line: object): Promise<void> {
  try {
    const handle = await open(file, "a", 0o600);
    try {
      await handle.appendFile(`${withoutApiKeys(JSON.stringify(line))}\n`);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new ToolgateError("UNAVAILABLE", "the operator log cannot be written; try again", { cause: error });
  }
}

/**
 * Returns what appends the newest seal to the file, once: who changes what is sealed, and the seal with it,
 * does not change the file.
 * @param file undefined: writes nothing
 */
export function sealLog(file: string | undefined): (seal: Seal) => Promise<void> {
  let written: string | undefined;
  return async ({ number, upTo, hash }) => {
    if (file === undefined || hash === written) return;
    await append(file, { event: "audit_seal", at: new Date(), number, up_to: upTo, hash });
    written = hash;
  };
}
