import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import { readStored, store } from "../../browser-storage.ts";
import { useSignedIn } from "../../session.tsx";

/** How often the checklist looks for the first paid call, ms. */
const POLL_MS = 2_000;

export interface FirstStepsState {
  readonly isPending: boolean;
  readonly shown: boolean;
  readonly paid: Receipt | undefined;
  readonly dismiss: () => void;
}

/** Waits for the account's first paid call, unless the checklist was dismissed. */
export function useFirstSteps(): FirstStepsState {
  const { accountId } = useSignedIn().session;
  const [dismissed, setDismissed] = useState(() => readStored(keyOf(accountId)) !== undefined);
  const [isNew, setNew] = useState(false);
  const receipts = useQuery(
    HistoryService.method.listReceipts,
    { limit: 1 },
    {
      enabled: !dismissed,
      refetchInterval: ({ state }) => (state.data?.items.length === 0 ? POLL_MS : false),
    },
  );
  const items = receipts.data?.items;
  if (!isNew && items?.length === 0) setNew(true);
  return {
    isPending: receipts.isLoading,
    shown: isNew && !dismissed,
    paid: items?.[0],
    dismiss: () => {
      store(keyOf(accountId), "dismissed");
      setDismissed(true);
    },
  };
}

function keyOf(accountId: string): string {
  return `toolgate-first-steps-${accountId}`;
}
