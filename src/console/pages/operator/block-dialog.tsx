import { useMutation } from "@connectrpc/connect-query";
import { useState, type MouseEvent } from "react";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { Button, Dialog, ErrorNote, focusInvalidField, showToast } from "../../ui/index.ts";
import { ReasonField } from "./reason-field.tsx";
import { refreshAccounts } from "./refresh-account.ts";

/** Blocks or unblocks an account with a reason. */
export function BlockDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const blocked = account.blockedReason === undefined;
  const [reason, setReason] = useState("");
  const [submitted, setSubmitted] = useState(false);
  const { mutate, reset, error, isPending } = useMutation(AccountService.method.setBlocked, {
    onSuccess: refreshAccounts,
  });
  const submit = (event: MouseEvent) => {
    setSubmitted(true);
    focusInvalidField(event.currentTarget);
    if (reason.trim() === "") return;
    mutate(
      { accountId: account.accountId, blocked, reason: reason.trim() },
      {
        onSuccess: () => {
          showToast(blocked ? "Account blocked" : "Account unblocked");
          onClose();
        },
      },
    );
  };
  return (
    <Dialog
      open
      title={blocked ? "Block this account?" : "Unblock this account?"}
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
          ? "Requests with its keys are rejected within a second. Running calls finish, deposits are " +
            "still credited."
          : "Its keys work again within a second."}
      </p>
      <ReasonField
        hint={blocked ? "Visible to the account holder" : "Stored in the audit log"}
        value={reason}
        error={submitted && reason.trim() === "" ? "Enter a reason" : undefined}
        onChange={(text) => {
          setReason(text);
          reset();
        }}
      />
      <ErrorNote error={error} />
    </Dialog>
  );
}
