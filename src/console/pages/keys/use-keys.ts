import { createConnectQueryKey, useMutation, useQuery } from "@connectrpc/connect-query";
import { useCallback } from "react";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { type CreateKeyResponse, KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
import { queryClient } from "../../rpc.ts";
import { storeUnsavedSecret, type UnsavedSecret } from "../../unsaved-secret.ts";

const LIST = createConnectQueryKey({ schema: KeyService.method.listKeys, cardinality: "finite" });

/** The account's keys, and the balance that all of them spend. */
export function useKeys() {
  const keys = useQuery(KeyService.method.listKeys, {}, { refetchInterval: 15_000 });
  const balance = useQuery(BalanceService.method.getBalance, {});
  return { keys, balance: balance.data?.balanceUsdcMicrousd };
}

/** Looks at the keys again, where they were changed. */
async function refreshKeys(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: LIST });
}

function unsavedSecret(key: ApiKey | undefined, secret: string): UnsavedSecret {
  const { keyId = "", name = "", scopes = [], limits } = key ?? {};
  return { keyId, name, secret, scopes, tools: limits?.tools ?? [] };
}

/** What comes back holds the secret: it goes to where it is shown, and is kept nowhere else. */
function onSecretReceived(reset: () => void, done: () => void) {
  return ({ key, secret }: Pick<CreateKeyResponse, "key" | "secret">) => {
    storeUnsavedSecret(unsavedSecret(key, secret));
    reset();
    void refreshKeys();
    done();
  };
}

/** Makes a key. */
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

/** Replaces a key by one like it. */
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

/** Revokes a key; its row says so at once. */
export function useRevokeKey() {
  return useMutation(KeyService.method.revokeKey, { onSuccess: refreshKeys });
}
