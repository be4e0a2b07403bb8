export default () => <h1>sql</h1>
