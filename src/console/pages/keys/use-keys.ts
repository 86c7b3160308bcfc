import { useMutation, useQuery } from "@connectrpc/connect-query";
import { type CreateKeyResponse, KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
import { reload } from "../../reload.ts";
import { storeUnsavedSecret, type UnsavedSecret } from "../../unsaved-secret.ts";

export function useKeys() {
  return useQuery(KeyService.method.listKeys, {}, { refetchInterval: 15_000 });
}

export async function refreshKeys(): Promise<void> {
  await Promise.all([reload(KeyService.method.listKeys), reload(KeyService.method.listKeyGroups)]);
}

function unsavedSecret(key: ApiKey | undefined, secret: string): UnsavedSecret {
  const { keyId = "", name = "", scopes = [], limits } = key ?? {};
  return { keyId, name, secret, scopes, tools: limits?.tools ?? [] };
}

function onSecretReceived(reset: () => void, done: () => void) {
  return ({ key, secret }: Pick<CreateKeyResponse, "key" | "secret">) => {
    storeUnsavedSecret(unsavedSecret(key, secret));
    reset();
    void refreshKeys();
    done();
  };
}

export function useCreateKey() {
  const { mutate, reset, error, isPending } = useMutation(KeyService.method.createKey, { gcTime: 0 });
  const create = (request: Parameters<typeof mutate>[0], done: () => void) =>
    mutate(request, { onSuccess: onSecretReceived(reset, done) });
  return { create, error, isPending };
}

export function useRotateKey() {
  const { mutate, reset, error, isPending } = useMutation(KeyService.method.rotateKey, { gcTime: 0 });
  const rotate = (request: Parameters<typeof mutate>[0], done: () => void) =>
    mutate(request, { onSuccess: onSecretReceived(reset, done) });
  return { rotate, error, isPending, reset };
}

export function useUpdateKey() {
  return useMutation(KeyService.method.updateKey, { onSettled: refreshKeys });
}

export function useGroups() {
  return useQuery(KeyService.method.listKeyGroups, {}, { refetchInterval: 15_000 });
}

export function useCreateGroup() {
  return useMutation(KeyService.method.createKeyGroup, { onSuccess: refreshKeys });
}

export function useUpdateGroup() {
  return useMutation(KeyService.method.updateKeyGroup, { onSettled: refreshKeys });
}
