import { useMutation, useQuery } from "@connectrpc/connect-query";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { refreshKeys } from "./use-keys.ts";

/** Queries the account's groups of keys. */
export function useGroups() {
  return useQuery(KeyService.method.listKeyGroups, {}, { refetchInterval: 15_000 });
}

/** Creates a group. */
export function useCreateGroup() {
  return useMutation(KeyService.method.createKeyGroup, { onSuccess: refreshKeys });
}

/** Changes a group. */
export function useUpdateGroup() {
  return useMutation(KeyService.method.updateKeyGroup, { onSuccess: refreshKeys });
}

/** Deletes a group. */
export function useDeleteGroup() {
  return useMutation(KeyService.method.deleteKeyGroup, { onSuccess: refreshKeys });
}
