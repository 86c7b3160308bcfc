import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { TreasuryService, type SuspendedTransfer } from "#gen/toolgate/v1/treasury_service_pb.ts";
import { formatUsd, truncateMiddle } from "../../format.ts";
import { queryClient } from "../../rpc.ts";
import { Button, Choice, Dialog, ErrorNote, Field, Input, showToast } from "../../ui/index.ts";
import { ReasonField } from "./reason-field.tsx";

const RECIPIENTS = [
  { value: "account", label: "An account" },
  { value: "operator", label: "The operator" },
] as const;

/** Assigns a transfer in suspense to an account or the operator. This cannot be undone. */
export function AssignDialog({ transfer, onClose }: { transfer: SuspendedTransfer; onClose: () => void }) {
  const [owner, setOwner] = useState<(typeof RECIPIENTS)[number]["value"]>("account");
  const [account, setAccount] = useState("");
  const [reason, setReason] = useState("");
  const [submitted, setSubmitted] = useState(false);
  const { mutate, error, isPending } = useMutation(TreasuryService.method.assignSuspense, {
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["list", "suspense"] }),
  });
  const accountId = account.trim();
  const fieldErrors = {
    account:
      owner === "account" && !accountId.startsWith("acct_")
        ? "Enter an account’s identifier, acct_…"
        : undefined,
    reason: reason.trim() === "" ? "Say why" : undefined,
  };
  const amount = formatUsd(transfer.amountUsdcMicrousd);
  const assign = () => {
    setSubmitted(true);
    if (fieldErrors.account !== undefined || fieldErrors.reason !== undefined) return;
    mutate(
      {
        txSignature: transfer.txSignature,
        owner:
          owner === "account" ? { case: "accountId", value: accountId } : { case: "operator", value: true },
        reason: reason.trim(),
      },
      {
        onSuccess: () => {
          showToast(
            owner === "account" ? `${amount} is on the account’s balance` : `${amount} is the operator’s`,
          );
          onClose();
        },
      },
    );
  };
  return (
    <Dialog
      open
      title={`Whose are these ${amount}?`}
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button tone="primary" busy={isPending} onClick={assign}>
            Assign {amount}
          </Button>
        </>
      }
    >
      <p className="soft">
        Transaction <code>{truncateMiddle(transfer.txSignature, 6, 6)}</code>. It is given once, and cannot be
        taken back here.
      </p>
      <Choice label="Owner" options={RECIPIENTS} value={owner} onChange={setOwner} />
      {owner === "account" ? (
        <Field
          label="Account"
          hint="Its balance is credited"
          error={submitted ? fieldErrors.account : undefined}
        >
          {(control) => (
            <Input
              {...control}
              placeholder="acct_…"
              value={account}
              onChange={({ target }) => setAccount(target.value)}
            />
          )}
        </Field>
      ) : (
        <p>No balance is credited: it was the operator’s own money.</p>
      )}
      <ReasonField
        hint="Kept in the ledger"
        value={reason}
        error={submitted ? fieldErrors.reason : undefined}
        onChange={setReason}
      />
      <ErrorNote error={error} />
    </Dialog>
  );
}
