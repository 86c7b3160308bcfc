import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { TreasuryService, type SuspendedTransfer } from "#gen/toolgate/v1/treasury_service_pb.ts";
import { formatUsd, truncateMiddle } from "../../format.ts";
import { queryClient } from "../../rpc.ts";
import { Button, Choice, Dialog, ErrorNote, Field, Input, showToast } from "../../ui/index.ts";
import { ReasonField } from "./reason-field.tsx";

const RECIPIENTS = [
  { value: "account", label: "Account" },
  { value: "operator", label: "Operator" },
] as const;

/** Assigns a transfer in suspense to an account or the operator. This cannot be undone. */
export function AssignDialog({ transfer, onClose }: { transfer: SuspendedTransfer; onClose: () => void }) {
  const [recipient, setRecipient] = useState<(typeof RECIPIENTS)[number]["value"]>("account");
  const [account, setAccount] = useState("");
  const [reason, setReason] = useState("");
  const [submitted, setSubmitted] = useState(false);
  const { mutate, error, isPending } = useMutation(TreasuryService.method.assignSuspense, {
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["list", "suspense"] }),
  });
  const accountId = account.trim();
  const fieldErrors = {
    account:
      recipient === "account" && !accountId.startsWith("acct_") ? "Enter an account ID, acct_…" : undefined,
    reason: reason.trim() === "" ? "Enter a reason" : undefined,
  };
  const amount = formatUsd(transfer.amountUsdcMicrousd);
  const assign = () => {
    setSubmitted(true);
    if (fieldErrors.account !== undefined || fieldErrors.reason !== undefined) return;
    mutate(
      {
        txSignature: transfer.txSignature,
        owner:
          recipient === "account"
            ? { case: "accountId", value: accountId }
            : { case: "operator", value: true },
        reason: reason.trim(),
      },
      {
        onSuccess: () => {
          showToast(
            recipient === "account"
              ? `${amount} credited to the account`
              : `${amount} assigned to the operator`,
          );
          onClose();
        },
      },
    );
  };
  return (
    <Dialog
      open
      title={`Assign ${amount}`}
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
        Transaction <code>{truncateMiddle(transfer.txSignature, 6, 6)}</code>. This cannot be undone.
      </p>
      <Choice label="Assign to" options={RECIPIENTS} value={recipient} onChange={setRecipient} />
      {recipient === "account" ? (
        <AccountField
          value={account}
          error={submitted ? fieldErrors.account : undefined}
          onChange={setAccount}
        />
      ) : (
        <p>No account is credited: the transfer was the operator’s own money.</p>
      )}
      <ReasonField
        hint="Stored in the ledger"
        value={reason}
        error={submitted ? fieldErrors.reason : undefined}
        onChange={setReason}
      />
      <ErrorNote error={error} />
    </Dialog>
  );
}

interface AccountFieldProps {
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function AccountField({ value, error, onChange }: AccountFieldProps) {
  return (
    <Field label="Account ID" hint="The amount is added to its balance" error={error}>
      {(control) => (
        <Input
          {...control}
          placeholder="acct_…"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}
