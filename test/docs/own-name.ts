/** Lets programs import `legate` and its entry points from the source, as they would from the package. */
import { offerOwnPackage } from '../../src/config/index.ts';

offerOwnPackage();
