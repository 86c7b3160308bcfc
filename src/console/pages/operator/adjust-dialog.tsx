import { useMutation } from "@connectrpc/connect-query";
import { useState, type MouseEvent } from "react";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { formatSignedUsd, formatUsd, MAX_USD, parseUsd } from "../../format.ts";
import { newIdempotencyKey } from "../idempotency-key.ts";
import {
  Button,
  Choice,
  Dialog,
  ErrorNote,
  focusInvalidField,
  Note,
  showToast,
  TextField,
} from "../../ui/index.ts";
import { ReasonField } from "../reason-field.tsx";
import { refreshAccounts } from "../refresh-account.ts";

const DIRECTIONS = [
  { value: "add", label: "Add" },
  { value: "take", label: "Deduct" },
] as const;

/** Adjusts a balance once: retries reuse the idempotency key. */
export function AdjustDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const [direction, setDirection] = useState<(typeof DIRECTIONS)[number]["value"]>("add");
  const [text, setText] = useState("");
  const [reason, setReason] = useState("");
  const [submitted, setSubmitted] = useState(false);
  const [confirming, setConfirming] = useState(false);
  // One key per dialog, whatever fails in between.
  const [idempotencyKey] = useState(() => newIdempotencyKey("console"));
  const { mutate, reset, error, isPending } = useMutation(AccountService.method.adjustBalance, {
    onSuccess: refreshAccounts,
  });
  const size = parseUsd(text);
  const fieldErrors = {
    amount: amountError(size, direction, account.balanceUsdcMicrousd),
    reason: reason.trim() === "" ? "Enter a reason" : undefined,
  };
  const amount = direction === "add" ? (size ?? 0n) : -(size ?? 0n);
  const next = (event: MouseEvent) => {
    setSubmitted(true);
    focusInvalidField(event.currentTarget);
    if (fieldErrors.amount === undefined && fieldErrors.reason === undefined) setConfirming(true);
  };
  const back = () => {
    reset();
    setConfirming(false);
  };
  const onSuccess = () => {
    showToast(`Balance adjusted by ${formatSignedUsd(amount)}`);
    onClose();
  };
  const { accountId } = account;
  const adjustment = { accountId, amountUsdcMicrousd: amount, reason: reason.trim(), idempotencyKey };
  return (
    <Dialog
      open
      title={confirming ? `Adjust the balance by ${formatSignedUsd(amount)}?` : "Adjust balance"}
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={confirming ? back : onClose}>
            {confirming ? "Back" : "Cancel"}
          </Button>
          {confirming ? (
            <Button
              tone={amount < 0n ? "danger" : "primary"}
              busy={isPending}
              onClick={() => mutate(adjustment, { onSuccess })}
            >
              {direction === "add" ? "Add" : "Deduct"} {formatUsd(size ?? 0n)}
            </Button>
          ) : (
            <Button tone="primary" onClick={next}>
              Continue
            </Button>
          )}
        </>
      }
    >
      {confirming ? (
        <Preview account={account} amount={amount} reason={reason.trim()} />
      ) : (
        <>
          <Choice label="Direction" options={DIRECTIONS} value={direction} onChange={setDirection} />
          <AmountField value={text} error={submitted ? fieldErrors.amount : undefined} onChange={setText} />
          <ReasonField
            hint="Visible to the account holder in the statement"
            value={reason}
            error={submitted ? fieldErrors.reason : undefined}
            onChange={setReason}
          />
        </>
      )}
      <ErrorNote error={error} />
    </Dialog>
  );
}

function AmountField({
  onChange,
  ...field
}: {
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}) {
  return (
    <TextField
      label="Amount"
      hint="US dollars"
      unit="$"
      inputMode="decimal"
      {...field}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

function Preview({ account, amount, reason }: { account: Account; amount: bigint; reason: string }) {
  const balance = account.balanceUsdcMicrousd;
  return (
    <Note tone="warn" title={`New balance: ${formatUsd(balance + amount)} (was ${formatUsd(balance)})`}>
      <p>“{reason}”</p>
      <p className="faint">Ledger entries cannot be deleted, only reversed by another entry.</p>
    </Note>
  );
}

/** The gateway refuses a balance below zero, so the preview never shows one. */
function amountError(
  size: bigint | undefined,
  direction: "add" | "take",
  balance: bigint,
): string | undefined {
  if (size === undefined || size === 0n) return "Enter an amount, such as 25 or 12.50.";
  if (size > MAX_USD) return "Maximum $1,000,000,000.";
  if (direction === "add" || size <= balance) return undefined;
  return balance > 0n ? `At most ${formatUsd(balance)}, the balance.` : "The balance is empty.";
}
