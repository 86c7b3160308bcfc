import { useQuery, useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { useParams } from "wouter";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { formatCount } from "../../format.ts";
import { Button, ButtonLink, Card, Copyable, Facts, Money, Note, Time, showToast } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import { Address } from "../on-chain.tsx";
import { ActivityTabs } from "../activity/activity-tabs.tsx";
import { AccountKeys } from "./account-keys.tsx";
import { AccountState } from "./accounts.tsx";
import { AdjustDialog } from "./adjust-dialog.tsx";
import { OperatorPage } from "./operator-page.tsx";
import { TierDialog } from "./tier-dialog.tsx";
import "./operator.css";
import { ReasonDialog } from "../reason-field.tsx";
import { refreshAccounts } from "../refresh-account.ts";

export function AccountPage() {
  const { id } = useParams<{ id: string }>();
  return (
    <OperatorPage title="Account" actions={<ButtonLink href="/operator/accounts">All accounts</ButtonLink>}>
      <AccountDetails accountId={id} key={id} />
    </OperatorPage>
  );
}

function AccountDetails({ accountId }: { accountId: string }) {
  const query = useQuery(AccountService.method.getAccount, { accountId });
  return (
    <>
      <QueryResult query={query} lines={6} box>
        {({ account }) => account && <DetailsCard account={account} />}
      </QueryResult>
      {!query.isPending && (
        <>
          <AccountKeys accountId={accountId} />
          <div>
            <ActivityTabs accountId={accountId} />
          </div>
        </>
      )}
    </>
  );
}

type Open = "adjust" | "tier" | "block";

function DetailsCard({ account }: { account: Account }) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const blocked = account.blockedReason !== undefined;
  return (
    <Card
      title="Details"
      actions={
        <>
          <Button small onClick={() => setOpen("adjust")}>
            Adjust balance
          </Button>
          <Button small onClick={() => setOpen("tier")}>
            Set rate limits
          </Button>
          <Button small tone={blocked ? "plain" : "danger"} onClick={() => setOpen("block")}>
            {blocked ? "Unblock" : "Block"}
          </Button>
        </>
      }
    >
      {blocked && (
        <Note tone="bad" title="Blocked: requests with its keys are rejected">
          {account.blockedReason}
        </Note>
      )}
      <Facts
        facts={[
          ["Balance", <Money key="balance" microUsd={account.balanceUsdcMicrousd} strong />],
          ["State", <AccountState key="state" account={account} />],
          ["Account", <Copyable key="account" text={account.accountId} label="account" />],
          ["Wallet", <Address key="wallet" address={account.wallet} label="wallet" />],
          ["Tier", account.tier],
          ["Rate limit per key", rateLabel(account.ratePerMinute, account.burst)],
          ["Rate limit per account", rateLabel(account.accountRatePerMinute, account.accountBurst)],
          ["Created", <Time key="created" at={account.createdAt} />],
        ]}
      />
      {/* Mounted on open, so that each dialog starts empty. */}
      {open === "adjust" && <AdjustDialog account={account} onClose={close} />}
      {open === "tier" && <TierDialog account={account} onClose={close} />}
      {open === "block" && <BlockDialog account={account} onClose={close} />}
    </Card>
  );
}

function rateLabel(ratePerMinute: number, burst: number): string {
  return `${formatCount(ratePerMinute)} requests/min, bursts of ${formatCount(burst)}`;
}

function BlockDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const blocked = account.blockedReason === undefined;
  const { mutate, reset, error, isPending } = useMutation(AccountService.method.setBlocked, {
    onSuccess: refreshAccounts,
  });
  const onSuccess = () => {
    showToast(blocked ? "Account blocked" : "Account unblocked");
    onClose();
  };
  return (
    <ReasonDialog
      about={account.accountId}
      title={blocked ? "Block this account?" : "Unblock this account?"}
      onClose={onClose}
      action={blocked ? "Block" : "Unblock"}
      tone={blocked ? "danger" : "primary"}
      busy={isPending}
      error={error}
      hint={blocked ? "Visible to the account holder" : "Stored in the audit log"}
      reset={reset}
      onReason={(reason) => mutate({ accountId: account.accountId, blocked, reason }, { onSuccess })}
    >
      <p>
        {blocked
          ? "Requests with its keys are rejected within a second. Running calls finish, deposits are " +
            "still credited."
          : "Its keys work again within a second."}
      </p>
    </ReasonDialog>
  );
}
