import { lazy, type ComponentType } from "react";

/** A page and its address below /console. */
interface PageRoute {
  /** As wouter matches it. */
  path: string;
  page: ComponentType;
}

/**
 * Every page, each a file of its own that is fetched when it is first opened. A page's component takes no props: it reads the address
 * with wouter's `useParams` and `useSearchParams`.
 */
export const ROUTES: readonly PageRoute[] = [
  { path: "/", page: lazy(async () => ({ default: (await import("./pages/overview.tsx")).OverviewPage })) },
  {
    path: "/activity",
    page: lazy(async () => ({ default: (await import("./pages/activity.tsx")).ActivityPage })),
  },
  {
    path: "/receipts/:id",
    page: lazy(async () => ({ default: (await import("./pages/receipt.tsx")).ReceiptPage })),
  },
  { path: "/runs/:id", page: lazy(async () => ({ default: (await import("./pages/run.tsx")).RunPage })) },
  {
    path: "/deposit/:id?",
    page: lazy(async () => ({ default: (await import("./pages/deposit.tsx")).DepositPage })),
  },
  { path: "/keys", page: lazy(async () => ({ default: (await import("./pages/keys.tsx")).KeysPage })) },
  {
    path: "/playground",
    page: lazy(async () => ({ default: (await import("./pages/playground.tsx")).PlaygroundPage })),
  },
  {
    path: "/settings",
    page: lazy(async () => ({ default: (await import("./pages/settings.tsx")).SettingsPage })),
  },
  {
    path: "/operator",
    page: lazy(async () => ({ default: (await import("./pages/operator/operations.tsx")).OperationsPage })),
  },
  {
    path: "/operator/accounts",
    page: lazy(async () => ({ default: (await import("./pages/operator/accounts.tsx")).AccountsPage })),
  },
  {
    path: "/operator/accounts/:id",
    page: lazy(async () => ({ default: (await import("./pages/operator/account.tsx")).AccountPage })),
  },
  {
    path: "/operator/payments",
    page: lazy(async () => ({ default: (await import("./pages/operator/payments.tsx")).PaymentsPage })),
  },
  {
    path: "/operator/actions",
    page: lazy(async () => ({ default: (await import("./pages/operator/actions.tsx")).ActionsPage })),
  },
];
