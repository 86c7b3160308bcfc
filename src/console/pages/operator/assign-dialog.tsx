import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState, type MouseEvent } from "react";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { TreasuryService, type SuspendedTransfer } from "#gen/toolgate/v1/treasury_service_pb.ts";
import { formatUsd, truncateMiddle } from "../../format.ts";
import { reload } from "../../reload.ts";
import { Button, Choice, focusInvalidField, showToast, TextField, ActionDialog } from "../../ui/index.ts";
import { ReasonField } from "../reason-field.tsx";

const RECIPIENTS = [
  { value: "account", label: "Account" },
  { value: "operator", label: "Operator" },
] as const;

/** Length of the shortest base58 address. */
const MIN_WALLET_LENGTH = 32;

/** Assigns a transfer in suspense to an account or the operator. This cannot be undone. */
export function AssignDialog({ transfer, onClose }: { transfer: SuspendedTransfer; onClose: () => void }) {
  const [recipient, setRecipient] = useState<(typeof RECIPIENTS)[number]["value"]>("account");
  const [account, setAccount] = useState("");
  const [reason, setReason] = useState("");
  const [submitted, setSubmitted] = useState(false);
  const { assign, reset, error, isPending } = useAssign(transfer, onClose);
  const text = account.trim();
  const found = useAccount(text);
  const sender = useAccount(transfer.payer ?? "");
  const accountId = found.account?.accountId ?? "";
  const fieldErrors = {
    account: recipient === "account" ? accountError(text, found) : undefined,
    reason: reason.trim() === "" ? "Enter a reason" : undefined,
  };
  /** A change clears the error of the attempt before it. */
  const changed =
    <Value,>(set: (value: Value) => void) =>
    (value: Value) => {
      reset();
      set(value);
    };
  const amount = formatUsd(transfer.amountUsdcMicrousd);
  const submit = (event: MouseEvent) => {
    setSubmitted(true);
    focusInvalidField(event.currentTarget);
    if (fieldErrors.account !== undefined || fieldErrors.reason !== undefined) return;
    assign(recipient === "account" ? accountId : undefined, reason.trim());
  };
  return (
    <ActionDialog
      title={`Assign ${amount}`}
      onClose={onClose}
      action={`Assign ${amount}`}
      busy={isPending}
      error={error}
      onAction={submit}
    >
      <p className="soft">
        Transaction <code>{truncateMiddle(transfer.txSignature, 6, 6)}</code>. This cannot be undone.
      </p>
      <Choice label="Assign to" options={RECIPIENTS} value={recipient} onChange={changed(setRecipient)} />
      {recipient === "account" ? (
        <AccountField
          value={account}
          account={found.account}
          sender={sender.account}
          error={submitted ? fieldErrors.account : undefined}
          onChange={changed(setAccount)}
        />
      ) : (
        <p>No account is credited: the transfer was the operator’s own money.</p>
      )}
      <ReasonField
        hint="Stored in the ledger"
        value={reason}
        error={submitted ? fieldErrors.reason : undefined}
        onChange={changed(setReason)}
      />
    </ActionDialog>
  );
}

/** Assigns the transfer to an account, or to the operator if the account is undefined. */
function useAssign({ txSignature, amountUsdcMicrousd }: SuspendedTransfer, onDone: () => void) {
  const { mutate, reset, error, isPending } = useMutation(TreasuryService.method.assignSuspense, {
    onSuccess: () => reload("suspense"),
  });
  const amount = formatUsd(amountUsdcMicrousd);
  const assign = (accountId: string | undefined, reason: string) => {
    const owner =
      accountId === undefined
        ? ({ case: "operator", value: true } as const)
        : ({ case: "accountId", value: accountId } as const);
    const onSuccess = () => {
      showToast(
        accountId === undefined ? `${amount} assigned to the operator` : `${amount} credited to the account`,
      );
      onDone();
    };
    mutate({ txSignature, owner, reason }, { onSuccess });
  };
  return { assign, reset, error, isPending };
}

interface AccountFieldProps {
  value: string;
  account: Account | undefined;
  sender: Account | undefined;
  error: string | undefined;
  onChange: (value: string) => void;
}

function AccountField({ value, account, sender, error, onChange }: AccountFieldProps) {
  const hint = account ? `The amount is added to the balance of ${account.accountId}` : "acct_… or a wallet";
  return (
    <>
      <TextField
        label="Account ID or wallet"
        hint={hint}
        error={error}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      {sender && sender.accountId !== account?.accountId && (
        <div>
          <Button small onClick={() => onChange(sender.accountId)}>
            Use the sender’s account
          </Button>
        </div>
      )}
    </>
  );
}

interface FoundAccount {
  account: Account | undefined;
  isPending: boolean;
}

/** Finds an account by its whole ID or wallet address. */
function useAccount(text: string): FoundAccount {
  const enabled = text.length >= MIN_WALLET_LENGTH;
  const query = text.slice(0, 100);
  const { data, isLoading } = useQuery(AccountService.method.listAccounts, { query, limit: 1 }, { enabled });
  const account = data?.items.find(({ accountId, wallet }) => text === accountId || text === wallet);
  return { account, isPending: enabled && isLoading };
}

function accountError(text: string, { account, isPending }: FoundAccount): string | undefined {
  if (account) return undefined;
  if (isPending) return "The account is being looked up. Try again.";
  return text === ""
    ? "Enter an account ID, acct_…, or a wallet address"
    : "No account has this ID or wallet";
}
