import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createConnectQueryKey, useMutation } from "@connectrpc/connect-query";
import { useCallback, useSyncExternalStore } from "react";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { KeyLimitsSchema } from "#gen/toolgate/v1/key_service_pb.ts";
import { onSessionEnd } from "../../session-end.ts";
import { queryClient } from "../../rpc.ts";
import { useSignedIn } from "../../session.tsx";

/** Limits of a temporary key, micro-USD, and its lifetime, ms. */
export const PLAYGROUND_LIMITS = { perCall: 100_000n, perDay: 1_000_000n, lifeMs: 3_600_000 } as const;

/** The API key in use. */
interface PlaygroundKey {
  /** Owner of the key: another session must not use it. */
  readonly sessionId: string;
  readonly secret: string;
  /** Set for a temporary key. */
  readonly expiresAt?: Date;
}

/** Kept in memory only. */
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

/** Returns the API key in use and the ways to set one. */
export function usePlaygroundKey() {
  const { sessionId } = useSignedIn().session;
  const kept = useSyncExternalStore(subscribe, () => used);
  const { mutate, reset, error, isPending } = useMutation(KeyService.method.createKey, { gcTime: 0 });
  const make = useCallback(() => {
    const expiresAt = new Date(Date.now() + PLAYGROUND_LIMITS.lifeMs);
    const limits = create(KeyLimitsSchema, {
      expiresAt: timestampFromDate(expiresAt),
      callUsdcMicrousd: PLAYGROUND_LIMITS.perCall,
      dayUsdcMicrousd: PLAYGROUND_LIMITS.perDay,
    });
    mutate(
      { name: "Playground", limits },
      {
        onSuccess: ({ secret }) => {
          set({ sessionId, secret, expiresAt });
          reset();
          const queryKey = createConnectQueryKey({
            schema: KeyService.method.listKeys,
            cardinality: "finite",
          });
          void queryClient.invalidateQueries({ queryKey });
        },
      },
    );
  }, [mutate, reset, sessionId]);
  const take = useCallback((secret: string) => set({ sessionId, secret }), [sessionId]);
  const forget = useCallback(() => set(undefined), []);
  return {
    key: kept?.sessionId === sessionId ? kept : undefined,
    make,
    take,
    forget,
    error,
    busy: isPending,
  };
}
