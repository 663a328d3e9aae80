/** The icons: outlines on a grid of 24, after Lucide (ISC licence). */
const paths = {
  overview: "M3 3h7v9H3zM14 3h7v5h-7zM14 12h7v9h-7zM3 16h7v5H3z",
  endpoints: "M9 17H7A5 5 0 0 1 7 7h2M15 7h2a5 5 0 1 1 0 10h-2M8 12h8",
  deliveries: "M22 2 11 13M22 2l-7 20-4-9-9-4z",
  eventTypes: "M2 4h6a4 4 0 0 1 4 4v13a3 3 0 0 0-3-3H2zM22 4h-6a4 4 0 0 0-4 4v13a3 3 0 0 1 3-3h7z",
  events: "M22 12h-4l-3 9L9 3l-3 9H2",
  notifications: "M6 8a6 6 0 0 1 12 0c0 7 3 9 3 9H3s3-2 3-9M10.300 21a1.940 1.940 0 0 0 3.400 0",
  audit: "M8 6h13M8 12h13M8 18h13M3 6h.010M3 12h.010M3 18h.010",
  members:
    "M16 21v-2a4 4 0 0 0-4-4H6a4 4 0 0 0-4 4v2M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8M22 21v-2a4 4 0 0 0-3-3.870M16 3.130a4 4 0 0 1 0 7.750",
  tokens:
    "M21 2l-2 2m-7.600 7.600a5.500 5.500 0 1 1-7.780 7.780 5.500 5.500 0 0 1 7.780-7.780zm0 0L15.500 7.500m0 0 3 3L22 7l-3-3m-3.500 3.500L19 4",
  settings: "M4 6h10M18 6h2M4 12h2M10 12h10M4 18h8M16 18h4M16 4v4M8 10v4M14 16v4",
  connect: "M4 17l6-6-6-6M12 19h8",
  check: "M20 6 9 17l-5-5",
  checkCircle: "M22 11.080V12a10 10 0 1 1-5.930-9.140M22 4 12 14.010l-3-3",
  clock: "M12 22a10 10 0 1 0 0-20 10 10 0 0 0 0 20M12 6v6l4 2",
  retry:
    "M3 12a9 9 0 0 1 9-9 9.750 9.750 0 0 1 6.740 2.740L21 8M21 3v5h-5M21 12a9 9 0 0 1-9 9 9.750 9.750 0 0 1-6.740-2.740L3 16M3 21v-5h5",
  cross: "M18 6 6 18M6 6l12 12",
  crossCircle: "M12 22a10 10 0 1 0 0-20 10 10 0 0 0 0 20M15 9l-6 6M9 9l6 6",
  warning:
    "M10.290 3.860 1.820 18a2 2 0 0 0 1.710 3h16.940a2 2 0 0 0 1.710-3L13.710 3.860a2 2 0 0 0-3.420 0zM12 9v4M12 17h.010",
  info: "M12 22a10 10 0 1 0 0-20 10 10 0 0 0 0 20M12 16v-4M12 8h.010",
  pause: "M12 22a10 10 0 1 0 0-20 10 10 0 0 0 0 20M10 15V9M14 15V9",
  copy: "M9 9h13v13H9zM5 15H4a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2h9a2 2 0 0 1 2 2v1",
  search: "M11 19a8 8 0 1 0 0-16 8 8 0 0 0 0 16M21 21l-4.350-4.350",
  plus: "M12 5v14M5 12h14",
  down: "M6 9l6 6 6-6",
  right: "M9 18l6-6-6-6",
  back: "M19 12H5M12 19l-7-7 7-7",
  menu: "M4 6h16M4 12h16M4 18h16",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 2v2M12 20v2M4.930 4.930l1.410 1.410M17.660 17.660l1.410 1.410M2 12h2M20 12h2M6.340 17.660l-1.410 1.410M19.070 4.930l-1.410 1.410",
  moon: "M12 3a6 6 0 0 0 9 9 9 9 0 1 1-9-9",
  screen: "M2 3h20v14H2zM8 21h8M12 17v4",
  out: "M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4M16 17l5-5-5-5M21 12H9",
  send: "M5 12h14M12 5l7 7-7 7",
  key: "M12 15v2m-6 4h12a2 2 0 0 0 2-2v-6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v6a2 2 0 0 0 2 2zm10-10V7a4 4 0 0 0-8 0v4",
  keyboard: "M2 5h20v14H2zM6 9h.010M10 9h.010M14 9h.010M18 9h.010M6 13h.010M18 13h.010M9 13h6M8 16h8",
  inbox:
    "M22 12h-6l-2 3h-4l-2-3H2M5.450 5.110 2 12v6a2 2 0 0 0 2 2h16a2 2 0 0 0 2-2v-6l-3.450-6.890A2 2 0 0 0 16.760 4H7.240a2 2 0 0 0-1.790 1.110z"
} as const

export type IconName = keyof typeof paths

export const Icon = ({
  name,
  size = 16,
  className = ""
}: {
  name: IconName
  size?: number
  className?: string
}) => (
  <svg
    aria-hidden="true"
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth={1.75}
    strokeLinecap="round"
    strokeLinejoin="round"
    className={`shrink-0 ${className}`}
  >
    <path d={paths[name]} />
  </svg>
)
