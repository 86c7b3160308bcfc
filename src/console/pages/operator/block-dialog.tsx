import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { Button, Dialog, ErrorNote, showToast } from "../../ui/index.ts";
import { ReasonField } from "./reason-field.tsx";
import { refreshAccounts } from "./refresh-account.ts";

/** Blocks or unblocks an account with a reason. */
export function BlockDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const blocked = account.blockedReason === undefined;
  const [reason, setReason] = useState("");
  const [submitted, setSubmitted] = useState(false);
  const { mutate, error, isPending } = useMutation(AccountService.method.setBlocked, {
    onSuccess: refreshAccounts,
  });
  const submit = () => {
    setSubmitted(true);
    if (reason.trim() === "") return;
    mutate(
      { accountId: account.accountId, blocked, reason: reason.trim() },
      {
        onSuccess: () => {
          showToast(blocked ? "The account is blocked" : "The account may call again");
          onClose();
        },
      },
    );
  };
  return (
    <Dialog
      open
      title={blocked ? "Block the account?" : "Let the account in again?"}
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button tone={blocked ? "danger" : "primary"} busy={isPending} onClick={submit}>
            {blocked ? "Block" : "Unblock"}
          </Button>
        </>
      }
    >
      <p>
        {blocked
          ? "Its keys are refused on every instance within a second. What runs is finished, deposits are credited, and its owner can still sign in and look."
          : "Its keys work again on every instance within a second."}
      </p>
      <ReasonField
        hint={blocked ? "Its owner reads this" : "Kept in the log"}
        value={reason}
        error={submitted && reason.trim() === "" ? "Say why" : undefined}
        onChange={setReason}
      />
      <ErrorNote error={error} />
    </Dialog>
  );
}
