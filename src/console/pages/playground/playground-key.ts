import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient, type Client } from "@connectrpc/connect";
import { createConnectQueryKey, useMutation, useTransport } from "@connectrpc/connect-query";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { KeyLimitsSchema, type ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
import { onSessionEnd } from "../../session-end.ts";
import { queryClient } from "../../rpc.ts";
import { useSignedIn } from "../../session.tsx";
import { asObject, asText } from "./schema.ts";
import { readFromTab, writeToTab } from "./tab-storage.ts";

/** Limits of a temporary key, micro-USD, and its lifetime, ms. */
export const PLAYGROUND_LIMITS = { perCall: 100_000n, perDay: 1_000_000n, lifeMs: 3_600_000 } as const;

const KEY_NAME = "Playground";

/** The API key in use. */
interface PlaygroundKey {
  /** Owner of the key: another session must not use it. */
  readonly sessionId: string;
  readonly secret: string;
  /** Set for a temporary key. */
  readonly expiresAt?: Date;
}

/** The key in use. Only a temporary one, with its low limits, is also stored in the tab. */
let used: PlaygroundKey | undefined;
const listeners = new Set<() => void>();

function set(key: PlaygroundKey | undefined): void {
  used = key;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

onSessionEnd(() => set(undefined));

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

/** Returns the API key in use and the ways to set one. */
export function usePlaygroundKey() {
  const { sessionId } = useSignedIn().session;
  const transport = useTransport();
  const kept = useSyncExternalStore(subscribe, () => used);
  useEffect(() => {
    const stored = used?.sessionId === sessionId ? undefined : storedKey(sessionId);
    if (stored) set(stored);
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
          set({ sessionId, secret, expiresAt });
          writeToTab("key", sessionId, { secret, expiresAt });
          reset();
          const queryKey = createConnectQueryKey({
            schema: KeyService.method.listKeys,
            cardinality: "finite",
          });
          void revokeOthers(createClient(KeyService, transport), key?.keyId ?? "")
            // A key that remains expires within the hour.
            .catch(() => {})
            .then(() => queryClient.invalidateQueries({ queryKey }));
        },
      },
    );
  }, [mutate, reset, sessionId, transport]);
  const take = useCallback((secret: string) => set({ sessionId, secret }), [sessionId]);
  const forget = useCallback(() => {
    set(undefined);
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
