import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient, type Client } from "@connectrpc/connect";
import { useMutation, useTransport } from "@connectrpc/connect-query";
import { useCallback, useEffect } from "react";
import { createStore } from "../../store.ts";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { KeyLimitsSchema, type ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
import { onSessionEnd } from "../../session-end.ts";
import { reload } from "../../reload.ts";
import { useSignedIn } from "../../session.tsx";
import { asObject, asText } from "./schema.ts";
import { readFromTab, writeToTab } from "./tab-storage.ts";

/** Limits of a temporary key, micro-USD, and its lifetime, ms. */
export const PLAYGROUND_LIMITS = { perCall: 100_000n, perDay: 1_000_000n, lifeMs: 3_600_000 } as const;

const KEY_NAME = "Playground";

interface PlaygroundKey {
  /** Owner of the key: another session must not use it. */
  readonly sessionId: string;
  readonly secret: string;
  readonly expiresAt?: Date;
}

/** The key in use. Only a temporary one, with its low limits, is also stored in the tab. */
const used = createStore<PlaygroundKey | undefined>(undefined);

onSessionEnd(() => used.set(undefined));

/** Returns the temporary key that this tab stored before a reload. */
function storedKey(sessionId: string): PlaygroundKey | undefined {
  const { secret, expiresAt } = asObject(readFromTab("key", sessionId));
  const end = new Date(asText(expiresAt));
  return typeof secret === "string" && end.getTime() > Date.now()
    ? { sessionId, secret, expiresAt: end }
    : undefined;
}

/** By name and limits: the account holder may have a key of that name. */
function isPlaygroundKey({ name, limits }: ApiKey): boolean {
  return (
    name === KEY_NAME &&
    limits?.expiresAt !== undefined &&
    limits.callUsdcMicrousd === PLAYGROUND_LIMITS.perCall &&
    limits.dayUsdcMicrousd === PLAYGROUND_LIMITS.perDay
  );
}

/** Revokes the account's other playground keys, so that each new one does not add a working key. */
async function revokeOthers(keys: Client<typeof KeyService>, kept: string): Promise<void> {
  const { keys: all } = await keys.listKeys({});
  const others = all.flatMap(({ key }) =>
    key && isPlaygroundKey(key) && key.revokedAt === undefined && key.keyId !== kept ? [key.keyId] : [],
  );
  await Promise.all(others.map((keyId) => keys.revokeKey({ keyId })));
}

export function usePlaygroundKey() {
  const { sessionId } = useSignedIn().session;
  const transport = useTransport();
  const kept = used.use();
  useEffect(() => {
    const stored = used.get()?.sessionId === sessionId ? undefined : storedKey(sessionId);
    if (stored) used.set(stored);
  }, [sessionId]);
  const { mutate, reset, error, isPending } = useMutation(KeyService.method.createKey, { gcTime: 0 });
  const make = useCallback(() => {
    const expiresAt = new Date(Date.now() + PLAYGROUND_LIMITS.lifeMs);
    const limits = create(KeyLimitsSchema, {
      expiresAt: timestampFromDate(expiresAt),
      callUsdcMicrousd: PLAYGROUND_LIMITS.perCall,
      dayUsdcMicrousd: PLAYGROUND_LIMITS.perDay,
    });
    mutate(
      { name: KEY_NAME, limits },
      {
        onSuccess: ({ key, secret }) => {
          used.set({ sessionId, secret, expiresAt });
          writeToTab("key", sessionId, { secret, expiresAt });
          reset();
          void revokeOthers(createClient(KeyService, transport), key?.keyId ?? "")
            // A key that remains expires within the hour.
            .catch(() => {})
            .then(() => reload(KeyService.method.listKeys));
        },
      },
    );
  }, [mutate, reset, sessionId, transport]);
  const take = useCallback((secret: string) => used.set({ sessionId, secret }), [sessionId]);
  const forget = useCallback(() => {
    used.set(undefined);
    writeToTab("key", sessionId, undefined);
  }, [sessionId]);
  return {
    key: kept?.sessionId === sessionId ? kept : undefined,
    make,
    take,
    forget,
    error,
    busy: isPending,
  };
}
