// Styles are bundled with the script that imports them.
declare module "*.css";
