import { createConnectQueryKey, useMutation, useQuery } from "@connectrpc/connect-query";
import { useCallback } from "react";
import { type CreateKeyResponse, KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
import { queryClient } from "../../rpc.ts";
import { storeUnsavedSecret, type UnsavedSecret } from "../../unsaved-secret.ts";

const KEYS = createConnectQueryKey({ schema: KeyService.method.listKeys, cardinality: "finite" });
const GROUPS = createConnectQueryKey({ schema: KeyService.method.listKeyGroups, cardinality: "finite" });

/** Queries the account's keys. */
export function useKeys() {
  return useQuery(KeyService.method.listKeys, {}, { refetchInterval: 15_000 });
}

/** Refetches keys and groups. */
export async function refreshKeys(): Promise<void> {
  await Promise.all([KEYS, GROUPS].map((queryKey) => queryClient.invalidateQueries({ queryKey })));
}

function unsavedSecret(key: ApiKey | undefined, secret: string): UnsavedSecret {
  const { keyId = "", name = "", scopes = [], limits } = key ?? {};
  return { keyId, name, secret, scopes, tools: limits?.tools ?? [] };
}

/** Stores the secret for display and clears it from the mutation's state. */
function onSecretReceived(reset: () => void, done: () => void) {
  return ({ key, secret }: Pick<CreateKeyResponse, "key" | "secret">) => {
    storeUnsavedSecret(unsavedSecret(key, secret));
    reset();
    void refreshKeys();
    done();
  };
}

/** Creates a key. */
export function useCreateKey() {
  const { mutate, reset, error, isPending } = useMutation(KeyService.method.createKey, { gcTime: 0 });
  const create = useCallback(
    (request: Parameters<typeof mutate>[0], done: () => void) => {
      mutate(request, { onSuccess: onSecretReceived(reset, done) });
    },
    [mutate, reset],
  );
  return { create, error, isPending };
}

/** Rotates a key. */
export function useRotateKey() {
  const { mutate, reset, error, isPending } = useMutation(KeyService.method.rotateKey, { gcTime: 0 });
  const rotate = useCallback(
    (request: Parameters<typeof mutate>[0], done: () => void) => {
      mutate(request, { onSuccess: onSecretReceived(reset, done) });
    },
    [mutate, reset],
  );
  return { rotate, error, isPending, reset };
}

/** Changes a key and refetches the lists. */
export function useUpdateKey() {
  return useMutation(KeyService.method.updateKey, { onSuccess: refreshKeys });
}

/** Revokes a key and refetches the list. */
export function useRevokeKey() {
  return useMutation(KeyService.method.revokeKey, { onSuccess: refreshKeys });
}
